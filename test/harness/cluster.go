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
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// patience with one condition; the machine is slow at times.
const patience = 3 * time.Minute

// Options of a World.
type Options struct {
	// Root of the module, from the test's folder.
	Root string
	// Schedulers of the local cluster.
	Schedulers []string
	// Modules is the folder lab/modules, where schedulers are to run with another configuration than ours. Default: ours.
	Modules string
	// Nodes of 8 GPUs, 96 CPUs and 1Ti that everybody may use, named node-0 and so on; default 0.
	Nodes int
	// Backends of the operator, and AddToScheme what their kinds are. Without backends none is started: the test runs one itself,
	// as OperatorUser.
	Backends    []scheduler.Backend
	AddToScheme []func(*runtime.Scheme) error
}

// Cluster is one cluster with one operator.
type Cluster struct {
	*localcluster.Cluster
	// Client of an administrator.
	Client client.Client
	Kube   kubernetes.Interface
	// Operator in this process; nil where the test runs one itself.
	Operator *Operator
	stop     func() error
}

// Start a World; Stop ends it. Where Start fails it leaves nothing behind.
func Start(ctx context.Context, o Options) (w *Cluster, err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "stage-")
	if err != nil {
		return nil, fmt.Errorf("making the cluster's folder: %w", err)
	}
	nodes := o.Nodes
	if nodes == 0 {
		nodes = -1
	}
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Nodes: nodes, Schedulers: o.Schedulers, Modules: o.Modules,
		CRDs: []string{filepath.Join(o.Root, "deploy/crd")},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	w = &Cluster{Cluster: cluster, stop: func() error {
		return errors.Join(cluster.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir))
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	s := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme}, o.AddToScheme...) {
		if err := add(s); err != nil {
			return w, fmt.Errorf("naming kinds: %w", err)
		}
	}
	config := cluster.RESTConfig()
	config.QPS = -1
	if w.Client, err = client.New(config, client.Options{Scheme: s}); err != nil {
		return w, fmt.Errorf("making a client: %w", err)
	}
	if w.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return w, fmt.Errorf("making a client: %w", err)
	}
	if err := w.grant(ctx, filepath.Join(o.Root, "deploy/rbac/role.yaml")); err != nil {
		return w, err
	}
	if len(o.Backends) == 0 {
		return w, nil
	}
	if w.Operator, err = startOperator(ctx, config, s, o.Backends); err != nil {
		return w, err
	}
	down := w.stop
	w.stop = func() error { return errors.Join(w.Operator.end(), down()) }
	return w, nil
}

// Stop the operator and the cluster.
func (w *Cluster) Stop() error { return w.stop() }

// grant the operator what ships with it, and nothing else.
func (w *Cluster) grant(ctx context.Context, file string) error {
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
			continue // the lease, which this operator has none of
		}
		err := errors.Join(w.Client.Create(ctx, role), w.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
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
