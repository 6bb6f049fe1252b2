package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// syncTimeout bounds the first list of a kind that has appeared: without the right to list it, that list
// never ends.
const syncTimeout = time.Minute

// waker carries jobs to the queue for which no object's event tells that they must be reconciled.
type waker chan event.GenericEvent

// wake enqueues jobs. It blocks until the controller runs, or ctx ends.
func (w waker) wake(ctx context.Context, jobs []types.NamespacedName) {
	for _, name := range jobs {
		job := &v1alpha1.TrainingJob{}
		job.Namespace, job.Name = name.Namespace, name.Name
		select {
		case w <- event.GenericEvent{Object: job}:
		case <-ctx.Done():
			return
		}
	}
}

// watches connects informers with the owned-object cache and the queue.
type watches struct {
	mgr        manager.Manager
	controller controller.Controller
	owned      *ownedCache
	// clusterObjects is nil where no backend is ClusterAware; clusterKinds are theirs.
	clusterObjects *clusterObjects
	clusterKinds   []schema.GroupVersionKind
}

// start watches what every cluster serves.
func (w *watches) start(woken waker) error {
	cache := w.mgr.GetCache()
	jobs := source.Kind(cache, &v1alpha1.TrainingJob{}, jobHandler{})
	return errors.Join(
		w.controller.Watch(jobs),
		w.controller.Watch(source.Kind(cache, &corev1.Node{}, nodeHandler{owned: w.owned})),
		w.controller.Watch(source.Channel(woken, &handler.EnqueueRequestForObject{})),
		w.add(podKind),
		w.add(serviceKind),
		w.add(sliceKind),
	)
}

// add watches a kind; before the manager starts.
func (w *watches) add(gvk schema.GroupVersionKind) error {
	src, err := w.source(gvk)
	if err != nil {
		return err
	}
	return w.controller.Watch(src)
}

// addAndSync watches a kind that has appeared, and returns when what exists of it is delivered.
func (w *watches) addAndSync(ctx context.Context, gvk schema.GroupVersionKind) error {
	src, err := w.source(gvk)
	if err != nil {
		return err
	}
	if err := w.controller.Watch(src); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	return src.WaitForSync(ctx)
}

// source of a kind that jobs own, or that ClusterAware backends must see.
func (w *watches) source(gvk schema.GroupVersionKind) (*awaitableSource, error) {
	if slices.Contains(w.clusterKinds, gvk) {
		return w.clusterObjects.source(gvk, w.mgr.GetScheme())
	}
	empty, err := newObject(w.mgr.GetScheme(), gvk)
	if err != nil {
		return nil, err
	}
	feed := &ownedHandler{gvk: gvk, owned: w.owned}
	return newAwaitableSource(source.Kind[client.Object](w.mgr.GetCache(), empty, feed)), nil
}
