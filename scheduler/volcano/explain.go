package volcano

import (
	"cmp"
	"fmt"
	"strings"

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
	// listQueues is the command that shows which queues there are.
	listQueues = "kubectl get queues.scheduling.volcano.sh"
)

// StateKinds implements scheduler.Explainer.
func (Backend) StateKinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{queueKind} }

// Matters implements scheduler.Explainer. A queue's status counts what happens in it and changes several
// times a second; only its state affects the reasons.
func (Backend) Matters(before, after client.Object) bool {
	b, hadBefore := before.(*schedulingv1beta1.Queue)
	a, hasAfter := after.(*schedulingv1beta1.Queue)
	if !hadBefore || !hasAfter {
		return true
	}
	return b.Status.State != a.Status.State || !equality.Semantic.DeepEqual(b.Spec, a.Spec)
}

// Explain implements scheduler.Explainer: a queue that is missing, closed or full. Volcano writes none of
// this on the group: it leaves the groups of unknown queues out of its sessions and rejects the tasks of the
// others one by one (cache/cache.go, Snapshot; plugins/capacity and proportion, AddAllocatableFn).
func (Backend) Explain(
	g scheduler.Gang, _ []client.Object, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	objects, known := s.Objects[queueKind]
	if !known {
		return scheduler.Explanation{}, false
	}
	queues := newQueueTree(objects)
	name := cmp.Or(g.Queue, defaultQueue)
	q := queues[name]
	if q == nil {
		return queueNotFound(name), true
	}
	if state := q.Status.State; state != schedulingv1beta1.QueueStateOpen {
		return queueNotOpen(name, state), true
	}
	if children := queues.children(name); len(children) > 0 {
		return queueNotLeaf(name, children), true
	}
	return queueFull(g, q, queues, s)
}

func queueNotFound(name string) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueNotFound, Object: queueResource + name,
		Message: fmt.Sprintf("Volcano has no queue %s", name),
		NextStep: fmt.Sprintf("name a queue that `%s` lists in %s, or ask the admin to create %s",
			listQueues, scheduler.PathQueue, name),
	}
}

func queueNotOpen(name string, state schedulingv1beta1.QueueState) scheduler.Explanation {
	e := scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: queueResource + name,
		Message: fmt.Sprintf("queue %s is %s: it starts no jobs", name, state),
		NextStep: fmt.Sprintf("ask the admin to open queue %s, or name another one in %s", name,
			scheduler.PathQueue),
	}
	if state == "" || state == schedulingv1beta1.QueueStateUnknown {
		e.Message = fmt.Sprintf("queue %s is not open yet", name)
		e.NextStep = "see that Volcano's controller manager runs: it opens queues"
	}
	return e
}

// queueNotLeaf explains that gangs start only from leaf queues (plugins/capacity, isLeafQueue). While any
// gang names another queue, the plugin starts no gang at all (buildHierarchicalQueueAttrs).
func queueNotLeaf(name string, children []string) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: queueResource + name,
		Message: fmt.Sprintf("queue %s has queues below it (%s) and takes no jobs itself; "+
			"with a gang in such a queue Volcano may start no gang at all", name, strings.Join(children, ", ")),
		NextStep: fmt.Sprintf("name one of the queues below it in %s, at once", scheduler.PathQueue),
	}
}

// queueFull explains that the queue, or one above it, has too little left. The children of a queue share its
// capability, and its status.allocated includes theirs (plugins/capacity,
// checkQueueAllocatableHierarchically).
func queueFull(
	g scheduler.Gang, q *schedulingv1beta1.Queue, queues queueTree, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	need := s.UnboundRequests(g)
	for range maxDepth {
		limit, what := queues.limit(q, s)
		if q.Name == rootQueue {
			if name, never := unlisted(q, need); never {
				return notListed(name), true
			}
			limit = rootLimit(q, need, s)
		}
		heldBy := func(name corev1.ResourceName) string {
			under := func(h scheduler.Holder) bool { return queues.isUnder(h.Queue, q.Name) }
			return s.Held(name, "Volcano's queue "+q.Name, under).Clause
		}
		used := scheduler.AmountsOf(q.Status.Allocated)
		e, ok := scheduler.ExplainQuota(what, queueResource+q.Name, need, limit, used, heldBy)
		if ok {
			return e, true
		}
		if q = queues[parentOf(q)]; q == nil {
			break
		}
	}
	return scheduler.Explanation{}, false
}

// notListed explains that the root leaves none of a resource to any queue.
func notListed(name corev1.ResourceName) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonExceedsQuota, Object: queueResource + rootQueue,
		Message: fmt.Sprintf("it can never start: it requests %[1]s, and the capability of queue root does "+
			"not list %[1]s", name),
		NextStep: fmt.Sprintf("ask the admin to add %s to the capability of queue root", name),
	}
}
