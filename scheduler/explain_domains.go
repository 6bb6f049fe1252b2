package scheduler

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The reasons in this file are those of a gang that must lie within one domain (Gang.Within).

// domainCause precedes the verdict of a scheduler that finds no domain, since it names the best one. Such a
// scheduler may add tolerations when it admits the gang, so taints do not count here.
func domainCause(w *waitingGang) (Explanation, bool) {
	if w.verdict.Reason != ReasonInsufficientResources {
		return Explanation{}, false
	}
	tolerant := *w
	tolerant.roles = slices.Clone(w.roles)
	for i := range tolerant.roles {
		tolerant.roles[i].accepting = ready(tolerant.roles[i].matching)
	}
	if e, ok := exceedsDomain(&tolerant); ok {
		return e, true
	}
	return insufficientInDomain(&tolerant)
}

// ready returns the nodes of a set that are ready.
func ready(s nodeSet) nodeSet {
	key := "ready of " + s.key
	return nodeSet{key: key, shared: s.shared, nodes: shareList(s.shared, key, func() []Node {
		return slices.DeleteFunc(slices.Clone(s.nodes), func(n Node) bool { return !n.Ready() })
	})}
}

// exceedsDomain explains that the gang would fit into no domain even if the nodes were empty.
func exceedsDomain(w *waitingGang) (Explanation, bool) {
	if w.gang.Within == "" || len(w.roles) == 0 {
		return Explanation{}, false
	}
	domains, unlabelled := domainsOf(w.roles, w.gang.Within)
	if slices.ContainsFunc(domains, func(d domain) bool { return d.canHold() }) {
		return Explanation{}, false
	}
	if len(domains) == 0 {
		return Explanation{
			Reason: ReasonExceedsDomain,
			Message: fmt.Sprintf("it can never start: none of %s has the label %s",
				count(unlabelled, "node that it may run on", "nodes that it may run on"), w.gang.Within),
			NextStep: "label the nodes with their domains, or correct the key in " + PathTopology,
		}, true
	}
	ranks, requests, _ := demand(w.roles)
	found := count(len(domains), "domain", "domains")
	if unlabelled > 0 {
		found += ", " + count(unlabelled, "node", "nodes") + " without the label"
	}
	name, largest := exceeded(domains, requests)
	e := Explanation{
		Reason: ReasonExceedsDomain,
		Message: fmt.Sprintf("it can never start: no %s has %s; the largest, %s, has %s when empty (%s)",
			w.gang.Within, FormatAmount(name, requests[name]), largest.name,
			FormatNumber(name, largest.nodes.sums(name).allocatable), found),
		NextStep: "request less, add nodes to a domain, or set mode Pack in " + PathTopology,
		Need:     resourceList(name, requests[name]), Free: w.cluster.free(name, largest.nodes.sums(name).free),
	}
	if requests[name] <= largest.nodes.sums(name).allocatable { // in parts that are too small for a rank
		e.Message = fmt.Sprintf("it can never start: no %s has nodes for %s at once; the best, %s, would "+
			"hold %d of them if it were empty (%s)",
			w.gang.Within, count(int(ranks), "rank", "ranks"), largest.name,
			placeable(largest.roles, availableWhenEmpty), found)
	}
	return e, true
}

// exceeded returns the resource that no domain has enough of, and the domain with most of it; otherwise the
// most important resource, and the domain that takes most of the ranks.
func exceeded(domains []domain, requests Amounts) (corev1.ResourceName, *domain) {
	for _, name := range ByImportance(requests) {
		largest := &domains[0]
		for i := range domains {
			if domains[i].nodes.sums(name).allocatable > largest.nodes.sums(name).allocatable {
				largest = &domains[i]
			}
		}
		if requests[name] > largest.nodes.sums(name).allocatable {
			return name, largest
		}
	}
	name := mostImportant(requests)
	return name, best(domains, availableWhenEmpty, name)
}

// insufficientInDomain explains that too little is free in every domain that is large enough.
func insufficientInDomain(w *waitingGang) (Explanation, bool) {
	if w.gang.Within == "" || len(w.roles) == 0 || w.fitsDomain() {
		return Explanation{}, false
	}
	all, _ := domainsOf(w.roles, w.gang.Within)
	domains := slices.DeleteFunc(slices.Clone(all), func(d domain) bool { return !d.canHold() })
	if len(domains) == 0 {
		return Explanation{}, false
	}
	ranks, requests, nodes := demand(w.roles)
	d := best(domains, availableNow, mostImportant(requests))
	name := shortResource(d.roles, requests, d.nodes)
	most, least := "", ""
	if w.cluster.Partial {
		most, least = "at most ", "at least "
	}
	have := d.nodes.sums(name)
	message := fmt.Sprintf("needs %s in one %s; the best, %s, has %s%s free of %s",
		FormatAmount(name, requests[name]), w.gang.Within, d.name, most, FormatNumber(name, have.free),
		FormatNumber(name, have.allocatable))
	if requests[name] <= have.free {
		message += fmt.Sprintf(": capacity for %s%d of %d "+
			"ranks", most, placeable(d.roles, availableNow), ranks)
	}
	message += w.cluster.heldOn(d.nodes, name, w.gang)
	if len(all) > 1 {
		message += fmt.Sprintf("; %s%s are free in all %d domains", most, FormatNumber(name,
			labelled(nodes, w.gang.Within).sums(name).free), len(all))
	}
	if n := w.cluster.Ahead.Count; n > 0 {
		message += "; " + least + count(n, "job waits", "jobs wait") + " before it"
	}
	return Explanation{
		Reason: ReasonInsufficientResources, Message: message,
		NextStep: "wait until others end there, request less, or set mode Pack in " + PathTopology,
		Need:     resourceList(name, requests[name]), Free: w.cluster.free(name, have.free),
	}, true
}

// labelled returns the nodes of a set that have a label.
func labelled(s nodeSet, key string) nodeSet {
	name := s.key + " with " + key
	return nodeSet{key: name, shared: s.shared, nodes: shareList(s.shared, name, func() []Node {
		return slices.DeleteFunc(slices.Clone(s.nodes), func(n Node) bool { return n.Labels[key] == "" })
	})}
}
