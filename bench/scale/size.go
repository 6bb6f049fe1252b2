package scale

import (
	"fmt"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Size of a step.
type Size struct {
	// Nodes of GPUsPerNode each.
	Nodes int `json:"nodes"`
	// Gangs run, each with ranksPerGang; together they hold every GPU.
	Gangs int `json:"gangs"`
	// Waiting jobs ask for a whole node each, with one rank: what a preemption leaves of a node is too
	// little for them.
	Waiting int `json:"waiting"`
}

const (
	// GPUsPerNode of every node.
	GPUsPerNode = 8
	// ranksPerGang, each with a GPU.
	ranksPerGang = 8
	// preemptions at every size, where the scheduler gets to as many: the answer to the worst of them is what a
	// percentile would hide.
	preemptions = 25
)

// full is the size that the operator is built for, beyond the one that is played with everything simulated
// but the operator.
var (
	full   = Size{Nodes: 1000, Gangs: 1000, Waiting: 10_000}
	beyond = Size{Nodes: 10_000, Gangs: 10_000, Waiting: 90_000}
)

// Parts of the full size that are played unless others are asked for.
func Parts() []int { return []int{8, 3, 1} }

// Part is one n-th of a scheduler's full size; 1 <= n <= 100.
func Part(scheduler string, n int) (Size, error) {
	if n < 1 || n > 100 {
		return Size{}, fmt.Errorf("one %d-th of the full size: it must be 1 to 100", n)
	}
	whole := full
	if scheduler == Simulated {
		whole = beyond
	}
	return Size{Nodes: whole.Nodes / n, Gangs: whole.Gangs / n, Waiting: whole.Waiting / n}, nil
}

// Planned is a step to be played.
type Planned struct {
	Scheduler string
	Size      Size
}

// Plan of all parts on all schedulers: one after the other, each from its smallest size to its largest.
func Plan(schedulers []string, parts []int) ([]Planned, error) {
	var plan []Planned
	for _, scheduler := range schedulers {
		if !slices.Contains(Schedulers(), scheduler) {
			return nil, fmt.Errorf("there is no scheduler %q; there are %s", scheduler,
				strings.Join(Schedulers(), ", "))
		}
		for _, n := range slices.Backward(slices.Sorted(slices.Values(parts))) {
			size, err := Part(scheduler, n)
			if err != nil {
				return nil, err
			}
			plan = append(plan, Planned{scheduler, size})
		}
	}
	return plan, nil
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

// waiting are the jobs that do not fit.
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
