package volcano

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
		if q == nil {
			return false
		}
		name = parentOf(q)
	}
	return false
}

// limit returns what a queue below the root may use, and a name for that limit: the queue's capability, but
// not more than what its parent has beyond the guarantees of its siblings (plugins/capacity,
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

// above returns what the queue shares with its siblings, of the given resources: the capability of its
// parent, or what the root has. It lacks resources of which that is unlimited or unknown.
func (t queueTree) above(
	q *schedulingv1beta1.Queue, resources scheduler.Amounts, s scheduler.ClusterState,
) scheduler.Amounts {
	parent := t[parentOf(q)]
	switch {
	case parent == nil:
		return scheduler.Amounts{}
	case parent.Name != rootQueue:
		return scheduler.AmountsOf(parent.Spec.Capability)
	case !hasNodes(parent):
		return capabilityOf(parent)
	}
	total := scheduler.Amounts{}
	if s.Complete {
		for name := range resources {
			total[name] = s.Allocatable(name)
		}
	}
	return total
}

// hasNodes reports whether the root has what the nodes have, as in Volcano 1.14. Since 1.15 it has its
// capability and, without one, is infinite (plugins/capacity, buildHierarchicalQueueAttrs; volcano#4973).
// Only up to 1.14 does the scheduler write what the root deserves (framework/session.go,
// updateRootQueueResources). An upgrade leaves that field; until an admin removes it, guarantees count here
// as in 1.14.
func hasNodes(root *schedulingv1beta1.Queue) bool { return len(root.Spec.Deserved) > 0 }

// capabilityOf returns the capability of the root; none if all its amounts are 0, as Volcano reads it.
func capabilityOf(root *schedulingv1beta1.Queue) scheduler.Amounts {
	capability := scheduler.AmountsOf(root.Spec.Capability)
	for name, n := range capability {
		if n > 0 && name != corev1.ResourcePods {
			return capability
		}
	}
	return scheduler.Amounts{}
}

// rootLimit returns what all queues together may use. It leaves out resources of which the nodes have no more
// than the root: when the root is used up, so are the nodes, and they show more of the reason.
func rootLimit(
	root *schedulingv1beta1.Queue, need scheduler.Amounts, s scheduler.ClusterState,
) scheduler.Amounts {
	if hasNodes(root) {
		return scheduler.Amounts{}
	}
	limit := capabilityOf(root)
	maps.DeleteFunc(limit, func(name corev1.ResourceName, n int64) bool {
		return need[name] <= n && s.Complete && s.Allocatable(name) <= n
	})
	return limit
}

// unlisted returns a resource that the capability of the root must list, since the gang needs it: with a
// capability, Volcano takes all others as 0 (api/resource_info.go, LessEqualWithDimensionAndResourcesName).
// It is never an extended resource, because Volcano ignores those that its device plugins count.
func unlisted(root *schedulingv1beta1.Queue, need scheduler.Amounts) (corev1.ResourceName, bool) {
	capability := capabilityOf(root)
	if len(capability) == 0 || hasNodes(root) {
		return "", false
	}
	for _, name := range scheduler.ByImportance(need) {
		_, listed := capability[name]
		if !listed && need[name] > 0 && name != corev1.ResourcePods && !strings.Contains(string(name), "/") {
			return name, true
		}
	}
	return "", false
}
