package volcano

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Explainer = Backend{}

var queueKind = schedulingv1beta1.SchemeGroupVersion.WithKind("Queue")

const (
	queueResource = "queues.scheduling.volcano.sh/"
	// defaultQueue of groups that name none (its scheduler's flag --default-queue).
	defaultQueue = "default"
	// listQueues shows what a reader can choose from.
	listQueues = "kubectl get queues.scheduling.volcano.sh"
)

// FactKinds implements scheduler.Explainer.
func (Backend) FactKinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{queueKind} }

// Matters implements scheduler.Explainer. A queue's status counts what happens in it, several times a second: of it the
// state alone decides over reasons.
func (Backend) Matters(before, after client.Object) bool {
	b, hadBefore := before.(*schedulingv1beta1.Queue)
	a, hasAfter := after.(*schedulingv1beta1.Queue)
	if !hadBefore || !hasAfter {
		return true
	}
	return b.Status.State != a.Status.State || !equality.Semantic.DeepEqual(b.Spec, a.Spec)
}

// Explain implements scheduler.Explainer: a queue that is missing, closed or full. Volcano itself says none of this on the
// group: it leaves the groups of unknown queues out of its sessions, and refuses the tasks of the others one by one
// (cache/cache.go, Snapshot; plugins/capacity and proportion, AddAllocatableFn).
func (Backend) Explain(g scheduler.Gang, _ []client.Object, f scheduler.Facts) (scheduler.Explanation, bool) {
	objects, known := f.Objects[queueKind]
	if !known {
		return scheduler.Explanation{}, false
	}
	queues := make(map[string]*schedulingv1beta1.Queue, len(objects))
	for _, o := range objects {
		if q, ok := o.(*schedulingv1beta1.Queue); ok {
			queues[q.Name] = q
		}
	}
	name := g.Queue
	if name == "" {
		name = defaultQueue
	}
	q := queues[name]
	if q == nil {
		return scheduler.Explanation{
			Reason: scheduler.ReasonQueueNotFound, Object: queueResource + name,
			Message:  fmt.Sprintf("Volcano has no queue %s", name),
			NextStep: fmt.Sprintf("name a queue that `%s` lists in %s, or ask the admin to create %s", listQueues, scheduler.PathQueue, name),
		}, true
	}
	if state := q.Status.State; state != schedulingv1beta1.QueueStateOpen {
		return notOpen(name, state), true
	}
	return full(g, q, queues, f)
}

func notOpen(name string, state schedulingv1beta1.QueueState) scheduler.Explanation {
	e := scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: queueResource + name,
		Message:  fmt.Sprintf("queue %s is %s: it starts no jobs", name, state),
		NextStep: fmt.Sprintf("ask the admin to open queue %s, or name another one in %s", name, scheduler.PathQueue),
	}
	if state == "" || state == schedulingv1beta1.QueueStateUnknown {
		e.Message = fmt.Sprintf("queue %s is not open yet", name)
		e.NextStep = "see that Volcano's controller manager runs: it opens queues"
	}
	return e
}

// maxDepth of the tree of queues: a cycle in spec.parent must not hang the operator.
const maxDepth = 16

// full walks from the queue to the root: the capability of a parent is shared by its children, and its status.allocated
// contains theirs (plugins/capacity, checkQueueAllocatableHierarchically).
func full(g scheduler.Gang, q *schedulingv1beta1.Queue, queues map[string]*schedulingv1beta1.Queue, f scheduler.Facts) (scheduler.Explanation, bool) {
	need := f.Missing(g)
	for range maxDepth {
		holders := func(name corev1.ResourceName) []scheduler.Holder {
			return f.HoldersOf(name, func(h scheduler.Holder) bool { return under(h.Queue, q.Name, queues) })
		}
		e, ok := scheduler.QuotaReason("queue "+q.Name, queueResource+q.Name, need,
			scheduler.AmountsOf(q.Spec.Capability), scheduler.AmountsOf(q.Status.Allocated), holders)
		if ok {
			return e, true
		}
		if q = queues[q.Spec.Parent]; q == nil {
			break
		}
	}
	return scheduler.Explanation{}, false
}

// under says whether a queue is another one or below it.
func under(name, ancestor string, queues map[string]*schedulingv1beta1.Queue) bool {
	for range maxDepth {
		if name == ancestor {
			return true
		}
		q := queues[name]
		if q == nil || q.Spec.Parent == "" {
			return false
		}
		name = q.Spec.Parent
	}
	return false
}
