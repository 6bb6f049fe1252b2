package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podBatch is how long a pass waits for more of the same: the ranks of a gang are created, bound and started together, and one
// pass for all of them is as good as one for each.
const podBatch = 25 * time.Millisecond

// batched delays what is added, unless it is queued already.
type batched struct{ queue }

func (q batched) Add(req reconcile.Request) { q.AddAfter(req, podBatch) }

// ownedHandler tells the ledger of an object first and enqueues its owner then, so that the pass sees it.
type ownedHandler struct {
	handler.EventHandler
	gvk    schema.GroupVersionKind
	ledger *ledger
}

func (h *ownedHandler) Create(ctx context.Context, e event.CreateEvent, q queue) {
	h.ledger.observe(h.gvk, e.Object)
	h.EventHandler.Create(ctx, e, h.batch(q))
}

func (h *ownedHandler) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	before, _ := ownerUID(e.ObjectOld)
	if after, _ := ownerUID(e.ObjectNew); before != after {
		h.ledger.observeGone(e.ObjectOld)
	}
	h.ledger.observe(h.gvk, e.ObjectNew)
	h.EventHandler.Update(ctx, e, h.batch(q))
}

func (h *ownedHandler) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	h.ledger.observeGone(e.Object)
	h.EventHandler.Delete(ctx, e, q)
}

// batch pods; deletions and everything else are acted upon at once.
func (h *ownedHandler) batch(q queue) queue {
	if h.gvk == podKind {
		return batched{q}
	}
	return q
}

// nodeHandler enqueues the jobs that have pods on a node that became ready or ceased to be, or that is gone.
type nodeHandler struct {
	ledger *ledger
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
	for _, name := range h.ledger.jobsOnNode(node.Name) {
		q.Add(reconcile.Request{NamespacedName: name})
	}
}

// startedSource is a source whose WaitForSync may be called before Start: a controller that does not run yet keeps a
// source until it does.
type startedSource struct {
	source.SyncingSource
	started chan struct{}
}

func (s *startedSource) Start(ctx context.Context, q queue) error {
	defer close(s.started)
	return s.SyncingSource.Start(ctx, q)
}

func (s *startedSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.started:
		return s.SyncingSource.WaitForSync(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}
