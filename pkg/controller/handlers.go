package controller

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

// podBatch is how long a reconcile waits for more events of pods: the ranks of a gang are created, bound and
// started together, and one reconcile serves all of them.
const podBatch = 25 * time.Millisecond

// jobHandler enqueues jobs.
type jobHandler struct{}

func (jobHandler) Create(_ context.Context, e event.TypedCreateEvent[*v1alpha1.TrainingJob], q turn.Queue) {
	priority := turn.Urgent
	if e.IsInInitialList {
		priority = priorityAtStart(e.Object)
	}
	turn.Take(q, client.ObjectKeyFromObject(e.Object), priority, 0)
}

// priorityAtStart returns the priority of a job when the operator starts: first the jobs that users changed
// while no operator ran, then those that hold nodes.
func priorityAtStart(job *v1alpha1.TrainingJob) int {
	switch phase := job.Status.Phase; {
	case job.Status.ObservedGeneration != job.Generation || !job.DeletionTimestamp.IsZero():
		return turn.Urgent
	case phase == v1alpha1.PhaseQueued || phase.Finished():
		return turn.Last
	}
	return turn.Usual
}

func (jobHandler) Update(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.TrainingJob], q turn.Queue) {
	priority := turn.Usual
	if isUrgentChange(e.ObjectOld, e.ObjectNew) {
		priority = turn.Urgent
	}
	turn.Take(q, client.ObjectKeyFromObject(e.ObjectNew), priority, 0)
}

// isUrgentChange reports whether more than details of the status has changed.
func isUrgentChange(before, after *v1alpha1.TrainingJob) bool {
	return before.UID != after.UID || before.Generation != after.Generation ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		before.Status.Phase != after.Status.Phase || before.Status.Attempt != after.Status.Attempt
}

func (jobHandler) Delete(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.TrainingJob], q turn.Queue) {
	turn.Take(q, client.ObjectKeyFromObject(e.Object), turn.Urgent, 0)
}

func (jobHandler) Generic(context.Context, event.TypedGenericEvent[*v1alpha1.TrainingJob], turn.Queue) {
}

// ownedHandler puts an object into the owned-object cache before it enqueues the owner, so that the reconcile
// sees it.
type ownedHandler struct {
	gvk   schema.GroupVersionKind
	owned *memory.OwnedCache
}

func (h *ownedHandler) Create(_ context.Context, e event.CreateEvent, q turn.Queue) {
	h.owned.Observe(h.gvk, e.Object)
	priority := h.urgency(e.Object)
	if e.IsInInitialList {
		priority = turn.Last
	}
	h.enqueue(q, e.Object, priority)
}

func (h *ownedHandler) Update(_ context.Context, e event.UpdateEvent, q turn.Queue) {
	before, _ := memory.OwnerUID(e.ObjectOld)
	if after, _ := memory.OwnerUID(e.ObjectNew); before != after {
		h.owned.ObserveGone(e.ObjectOld)
		h.enqueue(q, e.ObjectOld, turn.Urgent)
	}
	h.owned.Observe(h.gvk, e.ObjectNew)
	h.enqueue(q, e.ObjectNew, h.urgency(e.ObjectNew))
}

// Delete enqueues at once: a deletion is not part of a batch.
func (h *ownedHandler) Delete(_ context.Context, e event.DeleteEvent, q turn.Queue) {
	h.owned.ObserveGone(e.Object)
	if _, ok := memory.OwnerUID(e.Object); ok {
		turn.Take(q, memory.OwnerName(e.Object), turn.Urgent, 0)
	}
}

func (h *ownedHandler) Generic(context.Context, event.GenericEvent, turn.Queue) {}

// enqueue the job that controls an object. EnqueueRequestForOwner would ask for the scope of the owner's kind
// with every event.
func (h *ownedHandler) enqueue(q turn.Queue, obj client.Object, priority int) {
	if _, ok := memory.OwnerUID(obj); !ok {
		return
	}
	var after time.Duration
	if h.gvk == memory.PodKind {
		after = podBatch
	}
	turn.Take(q, memory.OwnerName(obj), priority, after)
}

// urgency of an object that exists: those that end, the ranks that have a node, and whatever else a gang has
// of which some do. By its Workload Kueue asks a gang for its places.
func (h *ownedHandler) urgency(obj client.Object) int {
	owner, _ := memory.OwnerUID(obj)
	pod, isPod := obj.(*corev1.Pod)
	if isPod && pod.Spec.NodeName != "" || !isPod && h.owned.HoldsNodes(owner) ||
		obj.GetDeletionTimestamp() != nil {
		return turn.Urgent
	}
	return turn.Usual
}

// nodeHandler enqueues the jobs that have pods on a node that becomes ready or ceases to be, appears or is
// deleted.
type nodeHandler struct {
	owned *memory.OwnedCache
}

func (h nodeHandler) Create(_ context.Context, e event.TypedCreateEvent[*corev1.Node], q turn.Queue) {
	if !e.IsInInitialList {
		h.enqueue(e.Object, q)
	}
}

func (h nodeHandler) Update(_ context.Context, e event.TypedUpdateEvent[*corev1.Node], q turn.Queue) {
	if memory.IsNodeReady(e.ObjectOld) != memory.IsNodeReady(e.ObjectNew) {
		h.enqueue(e.ObjectNew, q)
	}
}

func (h nodeHandler) Delete(_ context.Context, e event.TypedDeleteEvent[*corev1.Node], q turn.Queue) {
	h.enqueue(e.Object, q)
}

func (h nodeHandler) Generic(context.Context, event.TypedGenericEvent[*corev1.Node], turn.Queue) {}

func (h nodeHandler) enqueue(node *corev1.Node, q turn.Queue) {
	for _, name := range h.owned.JobsOnNode(node.Name) {
		turn.Take(q, name, turn.Urgent, 0)
	}
}
