package scheduler

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ClusterState is the part of a cluster's state that explains why a gang waits. It is shared between
// goroutines and read-only.
type ClusterState struct {
	// Complete is true when all visible nodes and bound pods are known. Otherwise absence here means nothing.
	Complete bool
	// Partial is true if the operator never sees the pods and jobs of some namespaces. Requested, Holders and
	// Ahead are then lower bounds, and Node.Free is an upper bound.
	Partial bool
	// Nodes are ordered by name.
	Nodes []Node
	// Holders are the holders of extended resources, such as GPUs.
	Holders []Holder
	// DeviceClasses by the extended resource that they serve (see DeviceClassOf).
	DeviceClasses map[corev1.ResourceName]string
	// Shared keeps what is computed from Complete, Partial, Nodes, Holders and Objects; nil: nothing is kept.
	Shared *Shared
	// Objects are the objects of the kinds that an Explainer names, such as queues and quotas. An absent kind
	// is unknown; a known kind without objects has an empty list.
	Objects map[schema.GroupVersionKind][]client.Object

	// Self is the gang itself as a Waiter, Ahead are those that the same scheduler serves before it from the
	// same queue.
	Self  Waiter
	Ahead Ahead
	// Bound is the number of the gang's ranks that are bound to a node, by role. Their requests are part of
	// their nodes' Requested.
	Bound map[string]int32
	// Claims are the claims that the gang's pods mount.
	Claims []Claim
	// NamesOf is the only namespace whose holders and waiters an explanation may name; empty: all. The others
	// count without names.
	NamesOf string
}

// Holder is the controller of bound pods that have extended resources; a pod without a controller is its own
// holder. HoldersOf returns a holder without a name if its name is hidden (see ClusterState.NamesOf).
type Holder struct {
	Kind, Namespace, Name string
	// Queue of the pods or their job; empty: unknown.
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

// Ahead describes the waiters served before a Waiter.
type Ahead struct {
	Count int
	// First is the one that is served next, if Count is more than 0.
	First Waiter
}

// Compare is negative when w is served before other from the same queue: higher priorities first, then older
// waiters.
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

// free returns the free amount for an explanation: none if it is unknown.
func (s ClusterState) free(name corev1.ResourceName, amount int64) corev1.ResourceList {
	if s.Partial {
		return nil
	}
	return resourceList(name, amount)
}

func (s ClusterState) mayName(namespace string) bool {
	return s.NamesOf == "" || s.NamesOf == namespace
}

// holdersOn returns the holders of a resource on the given nodes; Held counts only these nodes.
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

// UnboundRequests returns the total requests of the gang's unbound ranks among its first MinAvailable. When
// no rank is bound, this is the gang's MinResources, which the user may have set.
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
