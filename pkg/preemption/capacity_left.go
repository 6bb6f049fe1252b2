package preemption

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// ClaimOf returns what the gang of an outstanding plan takes of each node after its victims have ended, in
// addition to the claims of other plans. Written plans do not contain it. It is nil if the victims do not
// free enough capacity.
func (w Snapshot) ClaimOf(plan Plan, waiting *Waiting) map[string]scheduler.Amounts {
	others := slices.DeleteFunc(slices.Clone(w.Plans), func(o Plan) bool { return o.For == plan.For })
	s := newSpace(left(w, others), waiting.in(plan.Domain))
	for _, g := range w.still(plan.Victims) {
		s.add(s.shares(g.Holds), 1)
	}
	return s.claim()
}

// FitsSoon reports whether a gang without a plan fits into what is free plus what gangs release that end
// without a preemptor.
func (w Snapshot) FitsSoon(waiting *Waiting) bool {
	if waiting.Domains != nil {
		return slices.ContainsFunc(waiting.Domains, func(d Domain) bool { return w.FitsSoon(waiting.in(d.Name)) })
	}
	s := newSpace(left(w, w.Plans), waiting)
	for _, g := range w.still(w.orphans(w.Plans, nil)) {
		s.add(s.shares(g.Holds), 1)
	}
	return s.fits()
}

// left returns what the nodes have beyond the claims of outstanding plans, after the plans' victims have
// ended.
func left(w Snapshot, outstanding []Plan) []Node {
	more := map[string]scheduler.Amounts{}
	add := func(by map[string]scheduler.Amounts, sign int64) {
		for node, amounts := range by {
			if more[node] == nil {
				more[node] = scheduler.Amounts{}
			}
			for name, n := range amounts {
				more[node][name] += sign * n
			}
		}
	}
	for _, plan := range outstanding {
		for _, g := range w.still(plan.Victims) { // few of the thousands of running gangs
			add(g.Holds, 1)
		}
		add(plan.Claim, -1)
	}
	nodes := slices.Clone(w.Nodes)
	for i := range nodes {
		changes, changed := more[nodes[i].Name]
		if !changed {
			continue
		}
		free := maps.Clone(nodes[i].Free)
		for name, n := range changes {
			free[name] += n
		}
		nodes[i].Free = free
	}
	return nodes
}
