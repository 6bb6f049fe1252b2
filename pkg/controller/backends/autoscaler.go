package backends

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// NodeAutoscaler says whether something adds nodes for pods that wait. Where it may, the pods of a gang that
// fits on no node must exist: they are what brings the node.
type NodeAutoscaler string

const (
	// NodeAutoscalerDetect looks for the traces of Karpenter and of the Cluster Autoscaler. The default.
	NodeAutoscalerDetect NodeAutoscaler = ""
	// NodeAutoscalerPresent and NodeAutoscalerAbsent are what the admin says.
	NodeAutoscalerPresent NodeAutoscaler = "present"
	NodeAutoscalerAbsent  NodeAutoscaler = "absent"
)

// autoscalerPeriod is how often the cluster is searched for an autoscaler.
const autoscalerPeriod = time.Minute

// autoscalerGroups are API groups that mean that an autoscaler may run: Karpenter's, also where a cloud runs
// it out of sight; the Cluster Autoscaler's ProvisioningRequests; OpenShift's configuration of it.
var autoscalerGroups = []string{"karpenter.sh", "autoscaling.x-k8s.io", "autoscaling.openshift.io"}

// autoscalerStatus is where the Cluster Autoscaler reports (cluster-autoscaler/clusterstate/utils/status.go,
// StatusConfigMapName; its namespace is that of its flag --namespace).
var autoscalerStatus = types.NamespacedName{
	Namespace: metav1.NamespaceSystem, Name: "cluster-autoscaler-status",
}

// groupLister is what autoscaler needs of a discovery client.
type groupLister interface {
	ServerGroups() (*metav1.APIGroupList, error)
}

// Autoscaler knows whether nodes may be added for pods that wait. It is a manager.Runnable.
type Autoscaler struct {
	mode      NodeAutoscaler
	discovery groupLister
	live      client.Reader
	clock     clock.WithTicker
	absent    atomic.Bool
	// found is what the last search found; nil before the first. Searches never overlap.
	found *string
}

func NewAutoscaler(mode NodeAutoscaler, d groupLister, live client.Reader, c clock.WithTicker) *Autoscaler {
	a := &Autoscaler{mode: mode, discovery: d, live: live, clock: c}
	a.absent.Store(mode == NodeAutoscalerAbsent)
	return a
}

// IsAbsent reports whether it is certain that waiting pods bring no nodes.
func (a *Autoscaler) IsAbsent() bool { return a != nil && a.absent.Load() }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (a *Autoscaler) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it searches again and again, since an autoscaler may be installed later.
func (a *Autoscaler) Start(ctx context.Context) error {
	if a.mode != NodeAutoscalerDetect {
		return nil
	}
	ticker := a.clock.NewTicker(autoscalerPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			a.Detect(ctx)
		}
	}
}

// Detect searches once. What cannot be read is a doubt, and in doubt there is an autoscaler.
func (a *Autoscaler) Detect(ctx context.Context) {
	if a.mode != NodeAutoscalerDetect {
		return
	}
	trace, err := a.trace(ctx)
	if err != nil && ctx.Err() == nil {
		trace = err.Error()
	}
	a.absent.Store(trace == "")
	if a.found == nil || *a.found != trace {
		log.FromContext(ctx).Info("Looked for a node autoscaler", "absent", trace == "", "trace", trace)
	}
	a.found = &trace
}

// trace returns what shows that an autoscaler may run; "" if nothing does.
func (a *Autoscaler) trace(ctx context.Context) (string, error) {
	groups, err := a.discovery.ServerGroups()
	if err != nil {
		return "", fmt.Errorf("asking for the API groups: %w", err)
	}
	for _, g := range groups.Groups {
		if slices.Contains(autoscalerGroups, g.Name) {
			return "the API group " + g.Name, nil
		}
	}
	status := &metav1.PartialObjectMetadata{}
	status.SetGroupVersionKind(memory.ConfigMapKind)
	switch err := a.live.Get(ctx, autoscalerStatus, status); {
	case err == nil:
		return "ConfigMap " + autoscalerStatus.String(), nil
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("reading ConfigMap %s: %w", autoscalerStatus, err)
	}
	return "", nil
}
