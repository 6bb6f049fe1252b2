package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// podBatch is how long a reconcile waits for more events of pods: the ranks of a gang are created, bound and
// started together, and one reconcile serves all of them.
const podBatch = 25 * time.Millisecond

// batchingQueue delays what is added by podBatch, unless it is queued already.
type batchingQueue struct{ queue }

func (q batchingQueue) Add(req reconcile.Request) { q.AddAfter(req, podBatch) }

// ownedHandler puts an object into the owned-object cache before it enqueues the owner, so that the reconcile
// sees it.
type ownedHandler struct {
	handler.EventHandler
	gvk   schema.GroupVersionKind
	owned *ownedCache
}

func (h *ownedHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.owned.observe(h.gvk, e.Object)
	h.EventHandler.Create(ctx, e, h.batching(q))
}

func (h *ownedHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	before, _ := ownerUID(e.ObjectOld)
	if after, _ := ownerUID(e.ObjectNew); before != after {
		h.owned.observeGone(e.ObjectOld)
	}
	h.owned.observe(h.gvk, e.ObjectNew)
	h.EventHandler.Update(ctx, e, h.batching(q))
}

func (h *ownedHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.owned.observeGone(e.Object)
	h.EventHandler.Delete(ctx, e, q)
}

// batching batches the events of pods; deletions and everything else are acted upon at once.
func (h *ownedHandler) batching(q queue) queue {
	if h.gvk == podKind {
		return batchingQueue{q}
	}
	return q
}

// nodeHandler enqueues the jobs that have pods on a node that becomes ready or ceases to be, appears or is
// deleted.
type nodeHandler struct {
	owned *ownedCache
}

func (h nodeHandler) Create(_ context.Context, e event.TypedCreateEvent[*corev1.Node], q queue) {
	if !e.IsInInitialList {
		h.enqueue(e.Object, q)
	}
}

func (h nodeHandler) Update(_ context.Context, e event.TypedUpdateEvent[*corev1.Node], q queue) {
	if nodeReady(e.ObjectOld) != nodeReady(e.ObjectNew) {
		h.enqueue(e.ObjectNew, q)
	}
}

func (h nodeHandler) Delete(_ context.Context, e event.TypedDeleteEvent[*corev1.Node], q queue) {
	h.enqueue(e.Object, q)
}

func (h nodeHandler) Generic(context.Context, event.TypedGenericEvent[*corev1.Node], queue) {}

func (h nodeHandler) enqueue(node *corev1.Node, q queue) {
	for _, name := range h.owned.jobsOnNode(node.Name) {
		q.Add(reconcile.Request{NamespacedName: name})
	}
}
