package rounds

import (
	"maps"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// Results of the benchmark before its first run.
func (b *Benchmark) Results() result.Results {
	r := result.Results{Version: result.Version, Machine: Machine(), Rounds: b.Rounds}
	r.Machine.APIServerShare = b.APIServerShare
	for _, s := range b.Stacks {
		r.Stacks = append(r.Stacks, s.Describe())
	}
	for _, w := range b.Workloads {
		r.Workloads = append(r.Workloads, result.Workload{
			Name: w.Name, Question: w.Question, Nodes: w.Nodes, GPUs: w.GPUs(), Gangs: len(w.Gangs), Ranks: w.Ranks(),
			End: w.End, LeftOut: maps.Clone(w.LeftOut), Changed: maps.Clone(w.Changed),
			FirstLine: maps.Clone(w.FirstLine),
		})
	}
	return r
}
