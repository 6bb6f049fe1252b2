package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// Node is one node and the requests of its pods.
type Node struct {
	// Node holds the name, labels, taints, spec.unschedulable and the condition Ready; nothing else.
	*corev1.Node
	Allocatable, Requested Amounts
}

// Free returns what the node's pods leave of a resource, at least 0.
func (n Node) Free(name corev1.ResourceName) int64 {
	return max(0, n.Allocatable[name]-n.Requested[name])
}

// allocatable returns what the node has of a resource when it is empty.
func (n Node) allocatable(name corev1.ResourceName) int64 { return n.Allocatable[name] }

// Ready reports whether the node is ready and not cordoned.
func (n Node) Ready() bool {
	return !n.Spec.Unschedulable && slices.ContainsFunc(n.Status.Conditions, func(
		c corev1.NodeCondition,
	) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Taint returns the first taint that keeps new pods of the spec off the node, and false if there is none.
func (n Node) Taint(spec *corev1.PodSpec) (corev1.Taint, bool) {
	repelling := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	return schedulinghelper.FindMatchingUntoleratedTaint(
		klog.Logger{}, n.Spec.Taints, spec.Tolerations, repelling, false)
}

// AcceptingNodes returns the nodes that accept new pods of the spec: ready, not cordoned, without a taint
// that the pods do not tolerate.
func AcceptingNodes(nodes []Node, spec *corev1.PodSpec) []Node {
	var accepting []Node
	for _, n := range nodes {
		if _, tainted := n.Taint(spec); !tainted && n.Ready() {
			accepting = append(accepting, n)
		}
	}
	return accepting
}

// largestNode returns the most of a resource that any one of the nodes has, free or not; 0 without nodes.
func largestNode(nodes []Node, name corev1.ResourceName) int64 {
	var most int64
	for _, n := range nodes {
		most = max(most, n.Allocatable[name])
	}
	return most
}
