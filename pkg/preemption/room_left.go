package preemption

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

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
