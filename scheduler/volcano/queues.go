package volcano

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// defaultQueue is the queue of groups without one (the scheduler's flag --default-queue).
	defaultQueue = "default"
	// rootQueue is Volcano's own queue, the parent of queues without one.
	rootQueue = "root"
	// maxDepth bounds the search in the tree of queues: a cycle in spec.parent must not hang the operator.
	maxDepth = 16
)

// queueTree holds the queues of the cluster by name.
type queueTree map[string]*schedulingv1beta1.Queue

func newQueueTree(objects []client.Object) queueTree {
	queues := make(queueTree, len(objects))
	for _, o := range objects {
		if q, ok := o.(*schedulingv1beta1.Queue); ok {
			queues[q.Name] = q
		}
	}
	return queues
}

func parentOf(q *schedulingv1beta1.Queue) string {
	if q.Spec.Parent == "" && q.Name != rootQueue {
		return rootQueue
	}
	return q.Spec.Parent
}

// children returns the names of the queues directly below the named one, sorted.
func (t queueTree) children(name string) []string {
	var children []string
	for _, q := range t {
		if parentOf(q) == name && q.Name != name {
			children = append(children, q.Name)
		}
	}
	slices.Sort(children)
	return children
}

// isUnder reports whether the named queue is the ancestor or below it.
func (t queueTree) isUnder(name, ancestor string) bool {
	for range maxDepth {
		if name == ancestor {
			return true
		}
		q := t[name]
		if q == nil || q.Spec.Parent == "" {
			return false
		}
		name = q.Spec.Parent
	}
	return false
}

// limit returns what a queue may use, and a name for that limit: the queue's capability, but not more than
// what its parent, or the nodes, have beyond the guarantees of its siblings (plugins/capacity,
// checkHierarchicalQueue).
func (t queueTree) limit(q *schedulingv1beta1.Queue, s scheduler.ClusterState) (scheduler.Amounts, string) {
	limit, what := scheduler.AmountsOf(q.Spec.Capability), "queue "+q.Name
	guaranteed, siblings := t.guaranteedToSiblings(q)
	above := t.above(q, guaranteed, s)
	for name, n := range guaranteed {
		total, known := above[name]
		own, limited := limit[name]
		if rest := max(0, total-n); known && (!limited || rest < own) {
			limit[name] = rest
			what = fmt.Sprintf("queue %s without what is guaranteed to %s", q.Name,
				strings.Join(siblings, ", "))
		}
	}
	return limit, what
}

// guaranteedToSiblings returns the sum of the guarantees of the queue's siblings, and the siblings' sorted
// names.
func (t queueTree) guaranteedToSiblings(q *schedulingv1beta1.Queue) (scheduler.Amounts, []string) {
	sum, siblings := scheduler.Amounts{}, []string{}
	for _, other := range t {
		if other.Name == q.Name || parentOf(other) != parentOf(q) || len(other.Spec.Guarantee.Resource) == 0 {
			continue
		}
		siblings = append(siblings, other.Name)
		for name, n := range scheduler.AmountsOf(other.Spec.Guarantee.Resource) {
			sum[name] += n
		}
	}
	slices.Sort(siblings)
	return sum, siblings
}

// above returns what the queue shares with its siblings: the capability of its parent or, below the root,
// what the nodes have of the given resources. It is empty if that is unknown.
func (t queueTree) above(
	q *schedulingv1beta1.Queue, resources scheduler.Amounts, s scheduler.ClusterState,
) scheduler.Amounts {
	if parent := t[parentOf(q)]; parent != nil && parent.Name != rootQueue {
		return scheduler.AmountsOf(parent.Spec.Capability)
	}
	total := scheduler.Amounts{}
	if s.Complete {
		for name := range resources {
			total[name] = s.Allocatable(name)
		}
	}
	return total
}
