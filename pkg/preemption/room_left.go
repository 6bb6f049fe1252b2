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
	holds := map[Ref]map[string]scheduler.Amounts{}
	for i := range w.Running {
		holds[w.Running[i].Ref] = w.Running[i].Holds
	}
	for _, plan := range outstanding {
		for _, v := range plan.Victims {
			add(holds[v.Ref], 1)
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
