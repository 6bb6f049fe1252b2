package scheduler

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The reasons in this file come from the nodes and apply to any scheduler. They ignore pod affinity and
// topology spread, which only the scheduler's own message covers.

// noNodeMatches explains that a selector, an affinity or a taint leaves no node for a role.
func noNodeMatches(w *waitingGang) (Explanation, bool) {
	for _, r := range w.roles {
		if len(r.accepting.nodes) == 0 {
			return noNodeAccepts(r, len(w.cluster.Nodes)), true
		}
	}
	return Explanation{}, false
}

// noNodeAccepts explains why none of the cluster's nodes accepts a role; total is their number.
func noNodeAccepts(r roleCapacity, total int) Explanation {
	e, spec := Explanation{Reason: ReasonNoNodeMatches}, &r.role.Template.Spec
	switch {
	case total == 0:
		e.Message, e.NextStep = "the cluster has no nodes", "add nodes"
	case len(r.matching.nodes) == 0:
		e.Message = fmt.Sprintf("%s of role %s matches none of %s",
			nodeConstraint(spec), r.role.Name, count(total, "node", "nodes"))
		e.NextStep = "correct it (kubectl get nodes --show-labels lists what the nodes have), " +
			"or label nodes so that it matches"
	default:
		e.Message = fmt.Sprintf("none of the %s that role %s may run on takes it: %s",
			count(len(r.matching.nodes), "node", "nodes"), r.role.Name, unavailableCauses(r.matching, spec))
		e.NextStep = "add tolerations for the taints to the job, or uncordon or repair the nodes"
	}
	return e
}

// nodeConstraint describes how a spec restricts its nodes, in the user's own terms.
func nodeConstraint(spec *corev1.PodSpec) string {
	if len(spec.NodeSelector) == 0 {
		return "the node affinity"
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		pairs = append(pairs, key+"="+spec.NodeSelector[key])
	}
	s := "node selector " + joinUnique(pairs)
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		s += " with the node affinity"
	}
	return s
}

// unavailableCauses lists why the nodes take no new pods of a spec.
func unavailableCauses(set nodeSet, spec *corev1.PodSpec) string {
	return share(set.shared, "causes on "+set.key, func() string {
		var causes []string
		for _, n := range set.nodes {
			taint, tainted := n.Taint(spec)
			switch {
			case n.Spec.Unschedulable:
				causes = append(causes, "cordoned")
			case !n.Ready():
				causes = append(causes, "not ready")
			case tainted:
				causes = append(causes, "taint "+taint.ToString())
			}
		}
		return joinUnique(causes)
	})
}

// noNodeLargeEnough explains that a rank requests more than any of its nodes has, even when empty.
func noNodeLargeEnough(w *waitingGang) (Explanation, bool) {
	for _, r := range w.roles {
		one := r
		one.unbound = 1
		if placeable([]roleCapacity{one}, availableWhenEmpty) == 0 {
			return rankTooLarge(r, w.cluster), true
		}
	}
	return Explanation{}, false
}

func rankTooLarge(r roleCapacity, s ClusterState) Explanation {
	name := tooLargeResource(r)
	need, largest := r.requests[name], r.accepting.sums(name).largest
	e := Explanation{
		Reason: ReasonNoNodeLargeEnough,
		Message: fmt.Sprintf("it can never start: a rank of role %s requests %s and the largest of %s has %s",
			r.role.Name, FormatAmount(name, need),
			count(len(r.accepting.nodes), "node that it may run on", "nodes that it may run on"),
			FormatNumber(name, largest)),
		NextStep: fmt.Sprintf("request at most %s per rank, in more ranks, or add larger nodes",
			FormatAmount(name, largest)),
		Need: resourceList(name, need), Free: s.free(name, r.accepting.sums(name).largestFree),
	}
	switch {
	case largest == 0:
		e.NextStep = fmt.Sprintf("add nodes that have %s, or see that its device plugin runs on them", name)
	case largest >= need: // each resource alone would fit on some node
		e.Message = fmt.Sprintf("it can never start: no node has all that a rank of role %s requests at "+
			"once (%s)",
			r.role.Name, formatRequests(r.requests))
		e.NextStep = "request less per rank, or add larger nodes"
	}
	return e
}

// tooLargeResource returns the resource that no node has enough of for one rank, else the most important one.
func tooLargeResource(r roleCapacity) corev1.ResourceName {
	for _, name := range ByImportance(r.requests) {
		if r.requests[name] > r.accepting.sums(name).largest {
			return name
		}
	}
	return mostImportant(r.requests)
}

// formatRequests lists what a rank requests, without the pod itself.
func formatRequests(requests Amounts) string {
	var all []string
	for _, name := range ByImportance(requests) {
		if name != corev1.ResourcePods {
			all = append(all, FormatAmount(name, requests[name]))
		}
	}
	return joinUnique(all)
}

// exceedsCluster explains that the gang would not fit on its nodes even if they were empty. It requires a
// single role left to place: for several roles placeable may miss a solution.
func exceedsCluster(w *waitingGang) (Explanation, bool) {
	ranks, requests, nodes := demand(w.roles)
	placed := placeable(w.roles, availableWhenEmpty)
	if placed >= ranks || len(w.roles) > 1 {
		return Explanation{}, false
	}
	name := mostImportant(requests)
	for _, candidate := range ByImportance(requests) {
		if requests[candidate] > nodes.sums(candidate).allocatable {
			name = candidate
			break
		}
	}
	return Explanation{
		Reason: ReasonExceedsCluster,
		Message: fmt.Sprintf("it can never start: %s together %s, "+
			"and %s would hold %d of them if they were empty (%s in all)",
			count(int(ranks), "rank needs", "ranks need"), FormatAmount(name, requests[name]),
			count(len(nodes.nodes), "node that may run them", "nodes that may run them"),
			placed, FormatAmount(name, nodes.sums(name).allocatable)),
		NextStep: "request fewer ranks or a smaller minAvailable, or add nodes",
		Need:     resourceList(name, requests[name]), Free: w.cluster.free(name, nodes.sums(name).free),
	}, true
}

// insufficientResources explains that too little is free on the nodes that the gang may run on.
func insufficientResources(w *waitingGang) (Explanation, bool) {
	ranks, requests, nodes := demand(w.roles)
	placed := placeable(w.roles, availableNow)
	if placed >= ranks {
		return Explanation{}, false
	}
	name := shortResource(w.roles, requests, nodes)
	have, rank := nodes.sums(name), int64(0)
	for _, r := range w.roles {
		rank = max(rank, r.requests[name])
	}
	most, least := "", ""
	if w.cluster.Partial {
		most, least = "at most ", "at least "
	}
	message := fmt.Sprintf("needs %s, %s%s free on %s; the largest free node has %s%s and a rank needs %s",
		FormatAmount(name, requests[name]), most, FormatNumber(name, have.free),
		count(len(nodes.nodes), "node that may run it", "nodes that may run it"),
		most, FormatNumber(name, have.largestFree), FormatNumber(name, rank))
	if requests[name] <= have.free {
		message += fmt.Sprintf(": capacity for %s%d of %d ranks", most, placed, ranks)
	}
	message += w.cluster.heldOn(nodes, name, w.gang)
	if n := w.cluster.Ahead.Count; n > 0 {
		message += "; " + least + count(n, "job waits", "jobs wait") + " before it"
	}
	return Explanation{
		Reason: ReasonInsufficientResources, Message: message,
		NextStep: "wait until others end, request less, or give the job a higher priorityClass",
		Need:     resourceList(name, requests[name]), Free: w.cluster.free(name, have.free),
	}, true
}
