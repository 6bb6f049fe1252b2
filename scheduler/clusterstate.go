package scheduler

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterState is the state of a cluster as far as it explains why a gang waits. It is shared between
// goroutines and read-only.
type ClusterState struct {
	// Complete is true when all nodes and bound pods that the operator may see are known. Otherwise nothing
	// follows from what is absent here.
	Complete bool
	// Partial is true where the pods and jobs of some namespaces are never seen. Requested and Holders are then
	// less than what there is, and so is Ahead: what nodes have free is at most what Node.Free returns.
	Partial bool
	// Nodes are ordered by name.
	Nodes []Node
	// Holders are the holders of extended resources, such as GPUs.
	Holders []Holder
	// Shared keeps what is computed from Complete, Partial, Nodes, Holders and Objects; nil: nothing is kept.
	Shared *Shared
	// Objects are the objects of the kinds that an Explainer names, such as queues and quotas. A kind that is
	// absent is not known; a kind that is known but has no objects is present with an empty list.
	Objects map[schema.GroupVersionKind][]client.Object

	// Self is the gang itself as a Waiter, Ahead are those that the same scheduler serves before it from the
	// same queue.
	Self  Waiter
	Ahead Ahead
	// Bound is the number of the gang's ranks that are bound to a node, by role. Their requests are part of
	// their nodes' Requested.
	Bound map[string]int32
	// Claims are those that the gang's pods mount.
	Claims []Claim
	// NamesOf is the only namespace whose holders and waiters an explanation may name; empty: all. The others
	// count, without their names.
	NamesOf string
}

// Holder is the controller of bound pods that have extended resources; a pod without a controller is its own
// holder. Where HoldersOf returns one without a name, it may not be told (see ClusterState.NamesOf).
type Holder struct {
	Kind, Namespace, Name string
	// Queue is the queue that the pods or their job name; empty where it is not known.
	Queue string
	Pods  int
	// Held is what the pods hold in total, On what they hold on each node, by the node's name.
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

// Ahead says who is served before a Waiter.
type Ahead struct {
	Count int
	// First is the one that is served next; where Count is more than 0.
	First Waiter
}

// Compare is negative when w is served before other from the same queue: higher priorities come first, then
// those that have waited longer.
func (w Waiter) Compare(other Waiter) int {
	return cmp.Or(cmp.Compare(other.Priority, w.Priority), w.Since.Compare(other.Since.Time),
		cmp.Compare(w.Namespace, other.Namespace), cmp.Compare(w.Name, other.Name))
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Name          string
	Exists, Bound bool
}

// MatchingNodes returns the nodes that match the nodeSelector and the required node affinity of the spec. An
// affinity that cannot be parsed matches nothing, as in kube-scheduler.
func (s ClusterState) MatchingNodes(spec *corev1.PodSpec) []Node {
	required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec})
	var nodes []Node
	for _, n := range s.Nodes {
		if ok, err := required.Match(n.Node); ok && err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// HoldersOf returns the holders of a resource that pass the filter, in no particular order.
func (s ClusterState) HoldersOf(name corev1.ResourceName, filter func(Holder) bool) []Holder {
	var list []Holder
	for _, h := range s.Holders {
		if h.Held[name] > 0 && filter(h) {
			if !s.mayName(h.Namespace) {
				h.Namespace, h.Name = "", ""
			}
			list = append(list, h)
		}
	}
	return list
}

// free is what an explanation gives as the free amount of a resource: none where it is not known.
func (s ClusterState) free(name corev1.ResourceName, amount int64) corev1.ResourceList {
	if s.Partial {
		return nil
	}
	return resourceList(name, amount)
}

func (s ClusterState) mayName(namespace string) bool {
	return s.NamesOf == "" || s.NamesOf == namespace
}

// holdersOn returns the holders of a resource on the given nodes; their Held counts these nodes alone.
func (s ClusterState) holdersOn(nodes []Node, name corev1.ResourceName) []Holder {
	within := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		within[n.Name] = true
	}
	var restricted []Holder
	for _, h := range s.Holders {
		var held int64
		for node, amounts := range h.On { // a gang is on few of the nodes
			if within[node] {
				held += amounts[name]
			}
		}
		if held > 0 {
			h.Held = Amounts{name: held}
			restricted = append(restricted, h)
		}
	}
	return restricted
}

// UnboundRequests returns what those of the gang's first MinAvailable ranks that are not bound to a node
// request in total. When no rank is bound it is the gang's MinResources, which the user may have written.
func (s ClusterState) UnboundRequests(g Gang) Amounts {
	var bound int32
	for _, n := range s.Bound {
		bound += n
	}
	if bound == 0 {
		return AmountsOf(g.MinResources)
	}
	sum := Amounts{}
	for _, role := range g.Roles {
		unbound := int64(role.MinAvailable - s.Bound[role.Name])
		if unbound <= 0 || role.Template == nil {
			continue
		}
		for name, amount := range role.Requests() {
			if name != corev1.ResourcePods {
				sum[name] += unbound * amount
			}
		}
	}
	return sum
}
