package controller

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// consultations are what dialects must see beside the gangs' own objects, from a cache of its own: the manager's holds
// what carries our label, and would not start where one of its kinds is not served.
type consultations struct {
	cluster cluster.Cluster
	// everyone names all jobs.
	everyone func() []types.NamespacedName
}

func newConsultations(mgr manager.Manager) (*consultations, error) {
	beside, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme, o.HTTPClient, o.Logger = mgr.GetScheme(), mgr.GetHTTPClient(), mgr.GetLogger()
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mgr.GetRESTMapper(), nil }
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return nil, fmt.Errorf("making a cache for what schedulers consult: %w", err)
	}
	return &consultations{cluster: beside}, mgr.Add(beside)
}

// source of a kind: every job looks again when one of its objects changes, which is rare.
func (c *consultations) source(gvk schema.GroupVersionKind, scheme *runtime.Scheme) (*startedSource, error) {
	empty, err := newObject(scheme, gvk)
	if err != nil {
		return nil, err
	}
	wake := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		var all []reconcile.Request
		for _, name := range c.everyone() {
			all = append(all, reconcile.Request{NamespacedName: name})
		}
		return all
	})
	return &startedSource{
		SyncingSource: source.Kind[client.Object](c.cluster.GetCache(), empty, wake),
		started:       make(chan struct{}),
	}, nil
}

// consulted are the kinds that dialects must see beside the gangs' own objects.
func consulted(backends []scheduler.Backend) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, b := range backends {
		kinds = append(kinds, consultedBy(b)...)
	}
	return kinds
}

func consultedBy(b scheduler.Backend) []schema.GroupVersionKind {
	if c, ok := b.(scheduler.ClusterAware); ok {
		return c.ClusterKinds()
	}
	return nil
}

// consult lists the objects beside the gang's own that a dialect must see.
func (r *Reconciler) consult(ctx context.Context, b scheduler.Backend) ([]client.Object, error) {
	var objs []client.Object
	for _, gvk := range consultedBy(b) {
		list, err := newList(r.client.Scheme(), gvk)
		if err != nil {
			return nil, err
		}
		if err := r.consultations.cluster.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
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

func newList(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.ObjectList, error) {
	kind := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	empty, err := scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", kind.Kind, err)
	}
	list, ok := empty.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("making a %s: %T is no list", kind.Kind, empty)
	}
	return list, nil
}
