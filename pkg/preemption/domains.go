package preemption

import (
	"cmp"
	"slices"
	"time"
)

// choose for one gang, given the victims that already yield to it. For a gang that must lie within a domain
// it is the best of the choices for each of them: the one whose most valuable victim has the lowest value,
// then the cheapest, then the first.
func (p Policy) choose(
	w Snapshot, outstanding []Plan, waiting *Waiting, deadline time.Time, already []Victim,
) Choice {
	if waiting.Domains == nil {
		return p.chooseAnywhere(w, outstanding, waiting, deadline, already)
	}
	best := Choice{For: waiting.Ref, Outcome: NoCover}
	for _, part := range w.byDomain(waiting) {
		c := p.chooseAnywhere(part.snapshot, outstanding, &part.waiting, deadline, already)
		c.Plan.Domain = part.name
		if w.isBetter(c, best, len(already)) {
			best = c
		}
		if best.Outcome == Fits {
			return best
		}
	}
	if best.Outcome != Planned {
		best.Plan = Plan{}
	}
	return best
}

// isBetter compares choices for two domains, each with so many victims that yield already.
func (w Snapshot) isBetter(a, b Choice, already int) bool {
	rank := func(o Outcome) int { return slices.Index([]Outcome{NoCover, OnlyProtected, Planned, Fits}, o) }
	if a.Outcome != b.Outcome {
		return rank(a.Outcome) > rank(b.Outcome)
	}
	if a.Outcome != Planned {
		return false
	}
	value := func(c Choice) (most int32) {
		for i, v := range c.Plan.Victims[already:] {
			if g := w.running(v.Ref); g != nil && (i == 0 || g.Value > most) {
				most = g.Value
			}
		}
		return most
	}
	cost := func(c Choice) (sum int64) {
		for _, v := range c.Plan.Victims[already:] {
			sum += v.GPUSeconds + 1
		}
		return sum
	}
	return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(cost(a), cost(b))) < 0
}

// domainPart is the view of one domain: the gang's needs there, its nodes, the gang's budgets, and the gangs
// that hold any of these.
type domainPart struct {
	name     string
	waiting  Waiting
	snapshot Snapshot
}

// byDomain returns the part of each of a gang's domains, in one pass over the nodes and the gangs.
func (w Snapshot) byDomain(waiting *Waiting) []domainPart {
	parts, of := make([]domainPart, len(waiting.Domains)), map[string]int{}
	for i, d := range waiting.Domains {
		parts[i] = domainPart{name: d.Name, waiting: *waiting, snapshot: w}
		parts[i].waiting.Domains = nil
		parts[i].waiting.Needs = slices.Clone(waiting.Needs)
		parts[i].snapshot.Nodes, parts[i].snapshot.Running = nil, nil
		for _, node := range d.Nodes {
			of[node] = i
		}
	}
	for n, need := range waiting.Needs {
		for i := range parts {
			parts[i].waiting.Needs[n].Nodes = nil
		}
		for _, node := range need.Nodes {
			if i, known := of[node]; known {
				parts[i].waiting.Needs[n].Nodes = append(parts[i].waiting.Needs[n].Nodes, node)
			}
		}
	}
	for _, node := range w.Nodes {
		if i, known := of[node.Name]; known {
			parts[i].snapshot.Nodes = append(parts[i].snapshot.Nodes, node)
		} else if slices.Contains(waiting.Within, node.Name) {
			for i := range parts {
				parts[i].snapshot.Nodes = append(parts[i].snapshot.Nodes, node)
			}
		}
	}
	for g := range w.Running {
		for _, i := range touched(&w.Running[g], of, waiting.Within, len(parts)) {
			parts[i].snapshot.Running = append(parts[i].snapshot.Running, w.Running[g])
		}
	}
	return parts
}

// touched returns the domains of which a gang holds nodes; all of them if it uses a budget.
func touched(g *Running, of map[string]int, budgets []string, all int) []int {
	var list []int
	for node := range g.Holds {
		if slices.Contains(budgets, node) {
			list = list[:0]
			for i := range all {
				list = append(list, i)
			}
			return list
		}
		if i, known := of[node]; known && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// in returns the gang as it needs the nodes of one of its domains, by name; the gang itself if it has none.
func (g *Waiting) in(domain string) *Waiting {
	if g.Domains == nil {
		return g
	}
	one := *g
	one.Domains, one.Needs = nil, slices.Clone(g.Needs)
	var nodes []string
	if i := slices.IndexFunc(g.Domains, func(d Domain) bool { return d.Name == domain }); i >= 0 {
		nodes = g.Domains[i].Nodes
	}
	within := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		within[node] = true
	}
	for i := range one.Needs {
		one.Needs[i].Nodes = slices.DeleteFunc(slices.Clone(one.Needs[i].Nodes), func(node string) bool {
			return !within[node]
		})
	}
	return &one
}
