package preemption

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// ClaimOf returns what the gang of an outstanding plan takes of each node, once its victims are gone, beside
// what the other plans have claimed: a plan that was written down has it no more. It is nil where they do not
// make enough room.
func (w Snapshot) ClaimOf(plan Plan, waiting *Waiting) map[string]scheduler.Amounts {
	others := slices.DeleteFunc(slices.Clone(w.Plans), func(o Plan) bool { return o.For == plan.For })
	s := newSpace(left(w, others), waiting)
	for _, g := range w.still(plan.Victims) {
		s.add(s.shares(g.Holds), 1)
	}
	return s.claim()
}

// FitsSoon reports whether a gang without a plan fits into what is free and into what those leave who end
// anyway, and for nobody else.
func (w Snapshot) FitsSoon(waiting *Waiting) bool {
	s := newSpace(left(w, w.Plans), waiting)
	for _, g := range w.still(w.orphans(w.Plans, nil)) {
		s.add(s.shares(g.Holds), 1)
	}
	return s.fits()
}

// left is what the nodes have beyond what outstanding plans claim, once their victims are gone.
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
		for _, g := range w.still(plan.Victims) { // few, of thousands that run
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
