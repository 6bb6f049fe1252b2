package backends

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// NodeAutoscaler says whether a node autoscaler adds nodes for pending pods. If it can, the pods of a gang
// that fits on no node must exist, since they trigger the new node.
type NodeAutoscaler string

const (
	// NodeAutoscalerDetect looks for the traces of Karpenter and of the Cluster Autoscaler. The default.
	NodeAutoscalerDetect NodeAutoscaler = ""
	// NodeAutoscalerPresent and NodeAutoscalerAbsent are set by the admin.
	NodeAutoscalerPresent NodeAutoscaler = "present"
	NodeAutoscalerAbsent  NodeAutoscaler = "absent"
)

// autoscalerPeriod is how often the cluster is searched for an autoscaler.
const autoscalerPeriod = time.Minute

// autoscalerGroups are API groups that mean that an autoscaler may run: Karpenter's, also where a cloud runs
// it out of sight; the Cluster Autoscaler's ProvisioningRequests; OpenShift's configuration of it.
var autoscalerGroups = []string{"karpenter.sh", "autoscaling.x-k8s.io", "autoscaling.openshift.io"}

// autoscalerObjects are what the Cluster Autoscaler writes, in the namespace of its flag --namespace: where
// it reports (status-config-map-name) and the Lease by which its replicas elect a leader
// (leader-elect-resource-name). These are the default names; either object can have another or be absent.
var autoscalerObjects = []struct {
	kind schema.GroupVersionKind
	name string
}{
	{memory.ConfigMapKind, "cluster-autoscaler-status"},
	{coordinationv1.SchemeGroupVersion.WithKind("Lease"), "cluster-autoscaler"},
}

// groupLister is what autoscaler needs of a discovery client.
type groupLister interface {
	ServerGroups() (*metav1.APIGroupList, error)
}

// Autoscaler finds out whether a node autoscaler can add nodes for pending pods. It is a manager.Runnable.
type Autoscaler struct {
	mode      NodeAutoscaler
	discovery groupLister
	live      client.Reader
	clock     clock.WithTicker
	absent    atomic.Bool
	// found is what the last search found; nil before the first. Searches never overlap.
	found *string
}

// NewAutoscaler returns an Autoscaler that has not searched yet.
func NewAutoscaler(mode NodeAutoscaler, d groupLister, live client.Reader, c clock.WithTicker) *Autoscaler {
	a := &Autoscaler{mode: mode, discovery: d, live: live, clock: c}
	a.absent.Store(mode == NodeAutoscalerAbsent)
	return a
}

// IsAbsent reports whether it is certain that waiting pods bring no nodes.
func (a *Autoscaler) IsAbsent() bool { return a != nil && a.absent.Load() }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (a *Autoscaler) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it searches every minute, since the admin can install one later.
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

// Detect searches once. If a read fails, it assumes that there is an autoscaler.
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

// trace returns the sign of an autoscaler; "" if there is none.
func (a *Autoscaler) trace(ctx context.Context) (string, error) {
	groups, err := a.discovery.ServerGroups()
	if err != nil {
		return "", fmt.Errorf("listing the API groups: %w", err)
	}
	for _, g := range groups.Groups {
		if slices.Contains(autoscalerGroups, g.Name) {
			return "the API group " + g.Name, nil
		}
	}
	for _, o := range autoscalerObjects {
		found := &metav1.PartialObjectMetadataList{}
		found.SetGroupVersionKind(o.kind)
		err := a.live.List(ctx, found, client.MatchingFields{metav1.ObjectNameField: o.name}, client.Limit(1))
		if err != nil {
			return "", fmt.Errorf("looking for a %s %s: %w", o.kind.Kind, o.name, err)
		}
		if len(found.Items) > 0 {
			return o.kind.Kind + " " + client.ObjectKeyFromObject(&found.Items[0]).String(), nil
		}
	}
	return "", nil
}
