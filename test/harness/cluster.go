package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// patience bounds the wait for one condition; it is generous because the machine may be slow.
const patience = 3 * time.Minute

// Options of a Cluster.
type Options struct {
	// Root is the module's folder, relative to the test's.
	Root string
	// Schedulers that run in the local cluster.
	Schedulers []string
	// Modules replaces lab/modules, for schedulers with another configuration; by default it is the module's
	// own.
	Modules string
	// CoschedulingFlags are as in localcluster.Options.
	CoschedulingFlags []string
	// FeatureGates and Configurations are as in localcluster.Options.
	FeatureGates   []string
	Configurations map[string]string
	// Nodes is the number of shared nodes, each with 8 GPUs, 96 CPUs and 1Ti, named node-0 and so on.
	Nodes int
	// Backends of the operator; AddToScheme registers their kinds. Without backends no operator is started: the
	// test runs one itself, as OperatorUser.
	Backends    []scheduler.Backend
	AddToScheme []func(*runtime.Scheme) error
	// AgentImage is the operator's agent.image. Default: none is configured.
	AgentImage string
	// GPUTolerations are the operator's gpuTolerations.
	GPUTolerations []corev1.Toleration
	// Planning is the operator's preemption with mode DryRun. Default: it is off.
	Planning *planner.Options
}

// Cluster is a local cluster with one operator.
type Cluster struct {
	*localcluster.Cluster
	// Client has the rights of an administrator.
	Client client.Client
	Kube   kubernetes.Interface
	// Operator runs in this process; it is nil where the test runs one itself.
	Operator *Operator
	stop     func() error
}

// Start a cluster. If it fails it leaves nothing behind; otherwise the caller must call Stop.
func Start(ctx context.Context, o Options) (c *Cluster, err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "harness-")
	if err != nil {
		return nil, fmt.Errorf("making the cluster's folder: %w", err)
	}
	nodes := o.Nodes
	if nodes == 0 {
		nodes = -1
	}
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Nodes: nodes, Schedulers: o.Schedulers,
		Modules: o.Modules, CoschedulingFlags: o.CoschedulingFlags,
		FeatureGates: o.FeatureGates, Configurations: o.Configurations,
		CRDs: []string{filepath.Join(o.Root, "deploy/crd")},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c = &Cluster{Cluster: cluster, stop: func() error {
		return errors.Join(cluster.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir))
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	s := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme,
		v1alpha1.AddToScheme}, o.AddToScheme...) {
		if err := add(s); err != nil {
			return c, fmt.Errorf("registering kinds: %w", err)
		}
	}
	config := cluster.RESTConfig()
	config.QPS = -1
	if c.Client, err = client.New(config, client.Options{Scheme: s}); err != nil {
		return c, fmt.Errorf("making a client: %w", err)
	}
	if c.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return c, fmt.Errorf("making a client: %w", err)
	}
	if err := c.grant(ctx, filepath.Join(o.Root, "deploy/rbac/role.yaml")); err != nil {
		return c, err
	}
	if len(o.Backends) == 0 {
		return c, nil
	}
	if c.Operator, err = startOperator(ctx, config, s, o); err != nil {
		return c, err
	}
	down := c.stop
	c.stop = func() error { return errors.Join(c.Operator.end(), down()) }
	return c, nil
}

// Stop ends the operator and the cluster.
func (c *Cluster) Stop() error { return c.stop() }

// grant the operator the rights that ship with it, and no others.
func (c *Cluster) grant(ctx context.Context, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the operator's rights: %w", err)
	}
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(part), role); err != nil {
			return fmt.Errorf("reading the operator's rights: %w", err)
		}
		if role.Kind != "ClusterRole" {
			continue // the Role for the lease, which this operator does not use
		}
		err := errors.Join(c.Client.Create(ctx, role), c.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: OperatorUser}},
		}))
		if err != nil {
			return fmt.Errorf("granting the operator's rights: %w", err)
		}
	}
	return nil
}
