package volcano

import (
	"fmt"
	"slices"
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
	// defaultQueue of groups that name none (its scheduler's flag --default-queue).
	defaultQueue = "default"
	// listQueues shows what a reader can choose from.
	listQueues = "kubectl get queues.scheduling.volcano.sh"
)

// StateKinds implements scheduler.Explainer.
func (Backend) StateKinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{queueKind} }

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
func (Backend) Explain(g scheduler.Gang, _ []client.Object, f scheduler.ClusterState) (scheduler.Explanation, bool) {
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
	if children := childrenOf(name, queues); len(children) > 0 {
		return notLeaf(name, children), true
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

// notLeaf: gangs start from leaves alone (plugins/capacity, isLeafQueue). Worse, while a gang names such a queue the plugin
// starts none at all (buildHierarchicalQueueAttrs).
func notLeaf(name string, children []string) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: queueResource + name,
		Message: fmt.Sprintf("queue %s has queues below it (%s) and takes no jobs itself; with a gang in such a queue Volcano may start no gang at all",
			name, strings.Join(children, ", ")),
		NextStep: fmt.Sprintf("name one of the queues below it in %s, at once", scheduler.PathQueue),
	}
}

func childrenOf(name string, queues map[string]*schedulingv1beta1.Queue) []string {
	var children []string
	for _, q := range queues {
		if parentOf(q) == name && q.Name != name {
			children = append(children, q.Name)
		}
	}
	slices.Sort(children)
	return children
}

// maxDepth of the tree of queues: a cycle in spec.parent must not hang the operator.
const maxDepth = 16

// full walks from the queue to the root: the capability of a parent is shared by its children, and its status.allocated
// contains theirs (plugins/capacity, checkQueueAllocatableHierarchically).
func full(g scheduler.Gang, q *schedulingv1beta1.Queue, queues map[string]*schedulingv1beta1.Queue, f scheduler.ClusterState) (scheduler.Explanation, bool) {
	need := f.UnboundRequests(g)
	for range maxDepth {
		holders := func(name corev1.ResourceName) []scheduler.Holder {
			return f.HoldersOf(name, func(h scheduler.Holder) bool { return under(h.Queue, q.Name, queues) })
		}
		limit, what := limitOf(q, queues, f)
		e, ok := scheduler.ExplainQuota(what, queueResource+q.Name, need, limit, scheduler.AmountsOf(q.Status.Allocated), holders)
		if ok {
			return e, true
		}
		if q = queues[q.Spec.Parent]; q == nil {
			break
		}
	}
	return scheduler.Explanation{}, false
}

// limitOf a queue is its capability, and never more than what the nodes, or the queue above, have besides the guarantees of the
// queues next to it (plugins/capacity, checkHierarchicalQueue). With what to call it.
func limitOf(q *schedulingv1beta1.Queue, queues map[string]*schedulingv1beta1.Queue, f scheduler.ClusterState) (scheduler.Amounts, string) {
	limit, what := scheduler.AmountsOf(q.Spec.Capability), "queue "+q.Name
	kept, owners := scheduler.Amounts{}, []string{}
	for _, other := range queues {
		if other.Name == q.Name || parentOf(other) != parentOf(q) || len(other.Spec.Guarantee.Resource) == 0 {
			continue
		}
		owners = append(owners, other.Name)
		for name, n := range scheduler.AmountsOf(other.Spec.Guarantee.Resource) {
			kept[name] += n
		}
	}
	above := scheduler.Amounts{}
	if parent := queues[parentOf(q)]; parent != nil && parent.Name != rootQueue {
		above = scheduler.AmountsOf(parent.Spec.Capability)
	} else if f.Complete {
		for _, n := range f.Nodes {
			for name := range kept {
				above[name] += n.Allocatable[name]
			}
		}
	}
	slices.Sort(owners)
	for name, n := range kept {
		whole, known := above[name]
		own, limited := limit[name]
		if rest := max(0, whole-n); known && (!limited || rest < own) {
			limit[name] = rest
			what = fmt.Sprintf("queue %s without what is guaranteed to %s", q.Name, strings.Join(owners, ", "))
		}
	}
	return limit, what
}

// rootQueue is Volcano's own, above those that name no other.
const rootQueue = "root"

func parentOf(q *schedulingv1beta1.Queue) string {
	if q.Spec.Parent == "" && q.Name != rootQueue {
		return rootQueue
	}
	return q.Spec.Parent
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
