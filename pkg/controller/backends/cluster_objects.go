package backends

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// ClusterObjects caches the cluster-scoped objects that backends must see (scheduler.Traits). The cache is
// its own: the manager's holds only what carries our label, and would not start while one of these kinds is
// not served.
type ClusterObjects struct {
	Cluster cluster.Cluster
	// allJobs returns the names of all jobs.
	allJobs func() []types.NamespacedName
}

// NewClusterObjects adds a cache to the manager; allJobs returns the names of all jobs.
func NewClusterObjects(mgr manager.Manager, allJobs func() []types.NamespacedName) (*ClusterObjects, error) {
	c, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme, o.HTTPClient, o.Logger = mgr.GetScheme(), mgr.GetHTTPClient(), mgr.GetLogger()
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return mgr.GetRESTMapper(), nil
		}
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return nil, fmt.Errorf("making a cache for the schedulers' cluster-scoped objects: %w", err)
	}
	return &ClusterObjects{Cluster: c, allJobs: allJobs}, mgr.Add(c)
}

// Source of a kind: a change of the spec of one of its objects, which is rare, enqueues every job. Volcano
// counts nodes in the status of HyperNodes.
func (c *ClusterObjects) Source(
	gvk schema.GroupVersionKind, scheme *runtime.Scheme,
) (*AwaitableSource, error) {
	empty, err := memory.NewObject(scheme, gvk)
	if err != nil {
		return nil, err
	}
	enqueueAll := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		var all []reconcile.Request
		for _, name := range c.allJobs() {
			all = append(all, reconcile.Request{NamespacedName: name})
		}
		return all
	})
	return NewAwaitableSource(source.Kind(c.Cluster.GetCache(), empty, enqueueAll, specChanges)), nil
}

// specChanges ignores an update that leaves the generation as it is. Kinds without generations have 0.
var specChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectNew.GetGeneration() == 0 || e.ObjectNew.GetGeneration() != e.ObjectOld.GetGeneration()
}}

// List returns all objects of cluster-scoped kinds.
func (c *ClusterObjects) List(
	ctx context.Context, scheme *runtime.Scheme, kinds []schema.GroupVersionKind,
) ([]client.Object, error) {
	var objs []client.Object
	for _, gvk := range kinds {
		list, err := memory.NewList(scheme, gvk)
		if err != nil {
			return nil, err
		}
		if err := c.Cluster.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		err = meta.EachListItem(list, func(o runtime.Object) error {
			if obj, ok := o.(client.Object); ok {
				objs = append(objs, obj)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("reading the list of %s: %w", gvk.Kind, err)
		}
	}
	return objs, nil
}

// ClusterKinds returns the cluster-scoped kinds that backends read, served or not.
func ClusterKinds(backends ...scheduler.Backend) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, b := range backends {
		c := scheduler.Of(b)
		kinds = slices.Concat(kinds, c.ClusterKinds, c.TopologyKinds)
	}
	return kinds
}
