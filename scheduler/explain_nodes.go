package scheduler

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// What the nodes have to say, whatever the scheduler. Pod affinity and topology spreading are left to the scheduler's own
// sentence.

// noNodeMatches: a selector, an affinity or a taint leaves no node for a role.
func noNodeMatches(c *question) (Explanation, bool) {
	for _, r := range c.rooms {
		if len(r.open) > 0 {
			continue
		}
		e := Explanation{Reason: ReasonNoNodeMatches}
		total := len(c.facts.Nodes)
		switch {
		case total == 0:
			e.Message, e.NextStep = "the cluster has no nodes", "add nodes"
		case len(r.selected) == 0:
			e.Message = fmt.Sprintf("%s of role %s matches none of %s", wish(&r.role.Template.Spec), r.role.Name, count(total, "node", "nodes"))
			e.NextStep = "correct it (kubectl get nodes --show-labels lists what the nodes have), or label nodes so that it matches"
		default:
			e.Message = fmt.Sprintf("none of the %s that role %s may run on takes it: %s",
				count(len(r.selected), "node", "nodes"), r.role.Name, shut(r.selected, &r.role.Template.Spec))
			e.NextStep = "add tolerations for the taints to the job, or uncordon or repair the nodes"
		}
		return e, true
	}
	return Explanation{}, false
}

// wish of a pod for nodes, in the user's own words.
func wish(spec *corev1.PodSpec) string {
	if len(spec.NodeSelector) > 0 {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
			pairs = append(pairs, key+"="+spec.NodeSelector[key])
		}
		s := "node selector " + sortedUnique(pairs)
		if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
			s += " with the node affinity"
		}
		return s
	}
	return "the node affinity"
}

// shut says why nodes take no new pods of a spec.
func shut(nodes []Node, spec *corev1.PodSpec) string {
	var why []string
	for _, n := range nodes {
		taint, tainted := n.Taint(spec)
		switch {
		case n.Spec.Unschedulable:
			why = append(why, "cordoned")
		case !n.Ready():
			why = append(why, "not ready")
		case tainted:
			why = append(why, "taint "+taint.ToString())
		}
	}
	return sortedUnique(why)
}

// noNodeLargeEnough: a rank asks for more than any node has that it may run on, empty or not.
func noNodeLargeEnough(c *question) (Explanation, bool) {
	for _, r := range c.rooms {
		possible := slices.ContainsFunc(r.open, func(n Node) bool {
			return fits(func(name corev1.ResourceName) int64 { return n.Allocatable[name] }, r.need) > 0
		})
		if possible {
			continue
		}
		name := tooLarge(r)
		largest := LargestNode(r.open, name)
		e := Explanation{
			Reason: ReasonNoNodeLargeEnough,
			Message: fmt.Sprintf("it can never start: a rank of role %s asks for %s and the largest of %s has %s",
				r.role.Name, Text(name, r.need[name]), count(len(r.open), "node that it may run on", "nodes that it may run on"), amount(name, largest)),
			NextStep: fmt.Sprintf("ask for at most %s per rank, in more ranks, or add larger nodes", Text(name, largest)),
			Need:     list(name, r.need[name]), Free: list(name, LargestFree(r.open, name)),
		}
		if largest == 0 {
			e.NextStep = fmt.Sprintf("add nodes that have %s, or see that its device plugin runs on them", name)
		} else if largest >= r.need[name] { // each resource alone would fit somewhere
			e.Message = fmt.Sprintf("it can never start: no node has all that a rank of role %s asks for at once (%s)", r.role.Name, texts(r.need))
			e.NextStep = "ask for less per rank, or add larger nodes"
		}
		return e, true
	}
	return Explanation{}, false
}

// tooLarge is the resource of which no node has enough, else the most important one.
func tooLarge(r room) corev1.ResourceName {
	for _, name := range ByImportance(r.need) {
		if r.need[name] > LargestNode(r.open, name) {
			return name
		}
	}
	return dominant(r.need)
}

func texts(need Amounts) string {
	var all []string
	for _, name := range ByImportance(need) {
		if name != corev1.ResourcePods {
			all = append(all, Text(name, need[name]))
		}
	}
	return sortedUnique(all)
}

// exceedsCluster: not even empty nodes have room for all.
func exceedsCluster(c *question) (Explanation, bool) {
	ranks, need, nodes := demand(c.rooms)
	placed := places(c.rooms, true)
	if placed >= ranks || len(c.rooms) > 1 {
		// Several roles may fit in a way that places does not find: never is not said then.
		return Explanation{}, false
	}
	total := Amounts{}
	for _, n := range nodes {
		for name := range need {
			total[name] += n.Allocatable[name]
		}
	}
	name := dominant(need)
	for _, candidate := range ByImportance(need) {
		if need[candidate] > total[candidate] {
			name = candidate
			break
		}
	}
	return Explanation{
		Reason: ReasonExceedsCluster,
		Message: fmt.Sprintf("it can never start: %s together %s, and %s would have room for %d of them if they were empty (%s in all)",
			count(int(ranks), "rank needs", "ranks need"), Text(name, need[name]),
			count(len(nodes), "node that may run them", "nodes that may run them"), placed, Text(name, total[name])),
		NextStep: "ask for fewer ranks or a smaller minAvailable, or add nodes",
		Need:     list(name, need[name]), Free: list(name, TotalFree(nodes, name)),
	}, true
}

// insufficient: there are nodes for it, and too little of them is free.
func insufficient(c *question) (Explanation, bool) {
	ranks, need, nodes := demand(c.rooms)
	placed := places(c.rooms, false)
	if placed >= ranks {
		return Explanation{}, false
	}
	name := short(c.rooms, need, nodes)
	free, largest, rank := TotalFree(nodes, name), LargestFree(nodes, name), int64(0)
	for _, r := range c.rooms {
		rank = max(rank, r.need[name])
	}
	message := fmt.Sprintf("needs %s, %s free on %s; the largest free node has %s and a rank needs %s",
		Text(name, need[name]), amount(name, free), count(len(nodes), "node that may run it", "nodes that may run it"),
		amount(name, largest), amount(name, rank))
	if need[name] <= free {
		message += fmt.Sprintf(": room for %d of %d ranks", placed, ranks)
	}
	message += HeldBy(name, c.facts.holdersOn(nodes, name, c.gang))
	if n := len(c.facts.Ahead()); n > 0 {
		message += "; " + count(n, "job waits", "jobs wait") + " before it"
	}
	return Explanation{
		Reason: ReasonInsufficientResources, Message: message,
		NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
		Need:     list(name, need[name]), Free: list(name, free),
	}, true
}
