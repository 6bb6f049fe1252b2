package scheduler

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterState is what a cluster has, as far as it explains why a gang waits. It is shared between goroutines: nothing in it may
// be changed.
type ClusterState struct {
	// Complete: nodes and bound pods are known whole. Else nothing may be concluded from what is absent here.
	Complete bool
	// Nodes by name.
	Nodes []Node
	// Holders of extended resources, such as GPUs.
	Holders []Holder
	// Objects of the kinds that an Explainer asks for: queues, quotas. A kind that is absent is not known; one that is
	// known and of which nothing exists is an empty list.
	Objects map[schema.GroupVersionKind][]client.Object

	// Self is the gang among the others, and Waiting all that wait, the gang itself too.
	Self    Waiter
	Waiting []Waiter
	// Bound is how many ranks of the gang hold a node, by role: what they request is part of what their nodes' pods do.
	Bound map[string]int32
	// Claims that the gang's pods mount.
	Claims []Claim
}

// Node is one node and what its pods request.
type Node struct {
	// Node holds name, labels, taints, whether it is cordoned and whether it is ready; nothing else.
	*corev1.Node
	Allocatable, Requested Amounts
}

// Holder is whoever controls bound pods that have extended resources; a pod without a controller is its own.
type Holder struct {
	Kind, Namespace, Name string
	// Queue as the pods or their job name it; empty where it is not known.
	Queue string
	Pods  int
	// Held in all, and On each node by its name.
	Held Amounts
	On   map[string]Amounts
}

// Waiter is a training job that waits in a queue.
type Waiter struct {
	Namespace, Name  string
	Scheduler, Queue string
	Priority         int32
	Since            metav1.Time
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Name          string
	Exists, Bound bool
}

// Amounts of resources as kube-scheduler counts them: CPU in thousandths, everything else in whole units.
type Amounts map[corev1.ResourceName]int64

// AmountsOf a list.
func AmountsOf(l corev1.ResourceList) Amounts {
	a := make(Amounts, len(l))
	for name, q := range l {
		if name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		} else {
			a[name] = q.Value()
		}
	}
	return a
}

// Quantity of one resource.
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

// Free is what is left of a resource on the node; never below 0.
func (n Node) Free(name corev1.ResourceName) int64 {
	return max(0, n.Allocatable[name]-n.Requested[name])
}

// Ready and not cordoned.
func (n Node) Ready() bool {
	return !n.Spec.Unschedulable && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// TotalFree of a resource over nodes.
func TotalFree(nodes []Node, name corev1.ResourceName) int64 {
	var sum int64
	for _, n := range nodes {
		sum += n.Free(name)
	}
	return sum
}

// LargestFree is the most of a resource that one of the nodes has left.
func LargestFree(nodes []Node, name corev1.ResourceName) int64 {
	var most int64
	for _, n := range nodes {
		most = max(most, n.Free(name))
	}
	return most
}

// LargestNode is the most of a resource that one of the nodes has, free or not.
func LargestNode(nodes []Node, name corev1.ResourceName) int64 {
	var most int64
	for _, n := range nodes {
		most = max(most, n.Allocatable[name])
	}
	return most
}

// Selected nodes are those that the pods' nodeSelector and required node affinity match. An affinity that cannot be read
// selects nothing, as in kube-scheduler.
func (f ClusterState) Selected(spec *corev1.PodSpec) []Node {
	required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	var nodes []Node
	for _, n := range f.Nodes {
		if ok, err := required.Match(n.Node); ok && err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Taint that keeps new pods off the node, if it has one that they do not tolerate.
func (n Node) Taint(spec *corev1.PodSpec) (corev1.Taint, bool) {
	return schedulinghelper.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
}

// Open nodes are those among nodes that take new pods: ready, not cordoned, with no taint that the pods do not tolerate.
func Open(nodes []Node, spec *corev1.PodSpec) []Node {
	var open []Node
	for _, n := range nodes {
		if _, tainted := n.Taint(spec); !tainted && n.Ready() {
			open = append(open, n)
		}
	}
	return open
}

// HoldersOf a resource, who has most of it first.
func (f ClusterState) HoldersOf(name corev1.ResourceName, in func(Holder) bool) []Holder {
	var list []Holder
	for _, h := range f.Holders {
		if h.Held[name] > 0 && in(h) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Held[name], a.Held[name]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// holdersOn nodes are who holds a resource there, but for the gang itself; Held is what they hold there.
func (f ClusterState) holdersOn(nodes []Node, name corev1.ResourceName, g Gang) []Holder {
	here := ClusterState{}
	for _, h := range f.Holders {
		var held int64
		for _, n := range nodes {
			held += h.On[n.Name][name]
		}
		h.Held = Amounts{name: held}
		here.Holders = append(here.Holders, h)
	}
	return here.HoldersOf(name, func(h Holder) bool { return h.Namespace != g.Namespace || h.Name != g.Name })
}

// Ahead lists who is served before the gang by the same scheduler from the same queue: of higher priority, or of the same
// and there before it. The first is served first.
func (f ClusterState) Ahead() []Waiter {
	var list []Waiter
	for _, w := range f.Waiting {
		if w.Scheduler == f.Self.Scheduler && w.Queue == f.Self.Queue && before(w, f.Self) < 0 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, before)
	return list
}

func before(a, b Waiter) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since.Time),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Requests of one rank of the role, as the scheduler counts them; every pod also takes one of a node's places for pods.
func (r Role) Requests() Amounts {
	a := AmountsOf(resourcehelper.PodRequests(&corev1.Pod{Spec: r.Template.Spec}, resourcehelper.PodResourcesOptions{}))
	for name, n := range a {
		if n == 0 {
			delete(a, name)
		}
	}
	a[corev1.ResourcePods] = 1
	return a
}

// Missing is what the ranks of the gang's minimum that hold no node yet request together. Without any that do it is the
// gang's MinResources, which the user may have written.
func (f ClusterState) Missing(g Gang) Amounts {
	var bound int32
	for _, n := range f.Bound {
		bound += n
	}
	if bound == 0 {
		return AmountsOf(g.MinResources)
	}
	sum := Amounts{}
	for _, role := range g.Roles {
		left := int64(role.MinAvailable - f.Bound[role.Name])
		if left <= 0 || role.Template == nil {
			continue
		}
		for name, amount := range role.Requests() {
			if name != corev1.ResourcePods {
				sum[name] += left * amount
			}
		}
	}
	return sum
}
