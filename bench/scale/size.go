package scale

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Size of a step.
type Size struct {
	// Nodes of GPUsPerNode each.
	Nodes int `json:"nodes"`
	// Gangs run, each with ranksPerGang; together they hold every GPU.
	Gangs int `json:"gangs"`
	// Waiting jobs ask for a whole node each, with one rank: what a preemption leaves of a node is no room for
	// them.
	Waiting int `json:"waiting"`
}

const (
	// GPUsPerNode of every node.
	GPUsPerNode = 8
	// ranksPerGang, each with a GPU.
	ranksPerGang = 8
	// preemptions at every size: the answer to the worst of them is what a percentile would hide.
	preemptions = 25
)

// full is the size that the operator is built for.
var full = Size{Nodes: 1000, Gangs: 1000, Waiting: 10_000}

// Parts of the full size that are played unless others are asked for.
func Parts() []int { return []int{8, 4, 2, 1} }

// Part is one n-th of the full size; 1 <= n <= 100.
func Part(n int) (Size, error) {
	if n < 1 || n > 100 {
		return Size{}, fmt.Errorf("one %d-th of the full size: it must be 1 to 100", n)
	}
	return Size{Nodes: full.Nodes / n, Gangs: full.Gangs / n, Waiting: full.Waiting / n}, nil
}

// Jobs of a step.
func (s Size) Jobs() int { return s.Gangs + s.Waiting }

// Ranks that run.
func (s Size) Ranks() int { return s.Gangs * ranksPerGang }

// GPUs of the cluster.
func (s Size) GPUs() int { return s.Nodes * GPUsPerNode }

// running are the gangs that hold the cluster.
func (s Size) running() []workload.Gang {
	return gangs("gang", s.Gangs, workload.Gang{Ranks: ranksPerGang, GPUs: 1, Priority: workload.PriorityLow})
}

// waiting are the jobs that find no room.
func (s Size) waiting() []workload.Gang {
	return gangs("waits", s.Waiting, waiter)
}

// preempting are gangs of which each takes the GPUs of one that runs.
func (s Size) preempting() []workload.Gang {
	return gangs("high", min(preemptions, s.Gangs/2),
		workload.Gang{Ranks: ranksPerGang, GPUs: 1, Priority: workload.PriorityHigh})
}

// waiter is a job that waits.
var waiter = workload.Gang{Ranks: 1, GPUs: GPUsPerNode, Priority: workload.PriorityLow}

func gangs(prefix string, n int, like workload.Gang) []workload.Gang {
	all := make([]workload.Gang, n)
	for i := range all {
		all[i] = like
		all[i].Name = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return all
}
