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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

// syncTimeout bounds the first list of a kind that has appeared: without the right to list it, that list
// never ends.
const syncTimeout = time.Minute

// waker is a memory.Waker that enqueues jobs through a channel.
type waker chan event.TypedGenericEvent[awakened]

// awakened is a job and the priority of its turn.
type awakened struct {
	job      types.NamespacedName
	priority int
}

// Wake implements memory.Waker. It blocks until the controller runs, or ctx ends.
func (w waker) Wake(ctx context.Context, jobs []types.NamespacedName, priority int) {
	for _, name := range jobs {
		select {
		case w <- event.TypedGenericEvent[awakened]{Object: awakened{job: name, priority: priority}}:
		case <-ctx.Done():
			return
		}
	}
}

// source of the jobs for the controller.
func (w waker) source() source.TypedSource[reconcile.Request] {
	return source.TypedChannel(w, handler.TypedFuncs[awakened, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[awakened], q turn.Queue) {
			turn.Take(q, e.Object.job, e.Object.priority, 0)
		},
	})
}

// watches connects informers with the owned-object cache and the queue.
type watches struct {
	mgr        manager.Manager
	controller controller.Controller
	owned      *memory.OwnedCache
	// backends.ClusterObjects is nil where no backend has ClusterKinds; backends.ClusterKinds are theirs.
	clusterObjects *backends.ClusterObjects
	clusterKinds   []schema.GroupVersionKind
}

// start watches what every cluster serves.
func (w *watches) start(woken waker) error {
	cache := w.mgr.GetCache()
	jobs := source.Kind(cache, &v1alpha1.TrainingJob{}, jobHandler{})
	return errors.Join(
		w.controller.Watch(jobs),
		w.controller.Watch(source.Kind(cache, &corev1.Node{}, nodeHandler{owned: w.owned})),
		w.controller.Watch(woken.source()),
		w.add(memory.PodKind),
		w.add(memory.ServiceKind),
		w.add(memory.SliceKind),
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

// source of a kind that jobs own, or that backends must see.
func (w *watches) source(gvk schema.GroupVersionKind) (*backends.AwaitableSource, error) {
	if slices.Contains(w.clusterKinds, gvk) {
		return w.clusterObjects.Source(gvk, w.mgr.GetScheme())
	}
	empty, err := memory.NewObject(w.mgr.GetScheme(), gvk)
	if err != nil {
		return nil, err
	}
	feed := &ownedHandler{gvk: gvk, owned: w.owned}
	return backends.NewAwaitableSource(source.Kind[client.Object](w.mgr.GetCache(), empty, feed)), nil
}
