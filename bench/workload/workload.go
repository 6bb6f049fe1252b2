// Package workload answers one question: which gangs arrive when, how long do they train, and what goes wrong
// meanwhile? It is pure: a workload is data, the same for every stack.
//
//	workload.go  the data; validate.go says what makes sense of it
//	builtin.go   the workloads that ship; shapes.go and faults.go build them
//	file.go      a workload of one's own, as YAML; groups.go reads its gangs
//	philly.go    a seeded generator after the published fits of the Philly trace
//	trace.go     traces from files, as CSV; layout.go knows their columns, rows.go reads them
package workload

import (
	"math"
	"time"
)

// Workload is what one run plays on one stack.
type Workload struct {
	// Name is unique among the workloads of a benchmark; a DNS label.
	Name string `json:"name"`
	// Question that the workload answers, as one sentence for the report.
	Question string `json:"question"`
	// Nodes and GPUsPerNode are the fake nodes that the workload needs.
	Nodes       int `json:"nodes"`
	GPUsPerNode int `json:"gpusPerNode"`
	// Gangs in the order of their arrival: sorted by At, then by Name.
	Gangs []Gang `json:"gangs"`
	// Failures of nodes, sorted by At.
	Failures []NodeFailure `json:"failures,omitempty"`
	// End is when a run is over.
	End End `json:"end"`
	// Idle is how long the cluster is left alone once End has come, while writes are counted: zero for none.
	Idle time.Duration `json:"idle,omitempty"`
	// Cut bounds a run: what has not come by then is reported as "not within". More than zero.
	Cut time.Duration `json:"cut"`
	// LeftOut counts what a trace held and the workload leaves out, by reason. The rows of a trace are its gangs
	// and these.
	LeftOut map[string]int `json:"leftOut,omitempty"`
	// Changed counts rows of a trace that the workload holds otherwise than the trace does, by reason: a row can
	// count more than once.
	Changed map[string]int `json:"changed,omitempty"`
	// FirstLine is where in its file a reason of LeftOut or Changed is first met, from 1.
	FirstLine map[string]int `json:"firstLine,omitempty"`
}

// End is the condition that ends a run.
type End string

const (
	// EndPlaced ends a run as soon as every gang that fits at once runs: for workloads that do not finish.
	EndPlaced End = "Placed"
	// EndFinished ends a run when every gang has finished or was deleted.
	EndFinished End = "Finished"
)

// Gang is one distributed training.
type Gang struct {
	// Name is unique in the workload; a DNS label of at most 40 characters.
	Name string `json:"name"`
	// Ranks, at least 1, each with GPUs, at least 1 and at most a node's.
	Ranks int `json:"ranks"`
	GPUs  int `json:"gpus"`
	// Priority of the gang.
	Priority Priority `json:"priority"`
	// At is when the gang is submitted, after the start of the run.
	At time.Duration `json:"at"`
	// Train is how long all of the gang's ranks must run together until it has finished. Zero: until the run is
	// over.
	Train time.Duration `json:"train,omitempty"`
	// Checkpoint is the interval between two saves, in time of training. Zero: the gang never saves.
	Checkpoint time.Duration `json:"checkpoint,omitempty"`
	// DeleteAfter is how long after its submission the gang is deleted by its user, whatever it does then. Zero:
	// it is not.
	DeleteAfter time.Duration `json:"deleteAfter,omitempty"`
	// Never is true for a gang that fits on no cluster of the workload's size: nothing waits for it.
	Never bool `json:"never,omitempty"`
}

// Priority is the class of a gang. Each is a PriorityClass of the same name, with the prefix "bench-".
type Priority string

const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
)

// Value of the PriorityClass.
func (p Priority) Value() int32 {
	switch p {
	case PriorityLow:
		return 100
	case PriorityHigh:
		return 10_000
	default:
		return 1_000
	}
}

// NodeFailure is a node that loses its power.
type NodeFailure struct {
	// At is when it dies, after the start of the run.
	At time.Duration `json:"at"`
	// Node is its index, below Workload.Nodes.
	Node int `json:"node"`
	// For is how long it stays dead.
	For time.Duration `json:"for"`
}

// Ranks of all gangs that can fit.
func (w Workload) Ranks() int {
	n := 0
	for _, g := range w.Gangs {
		if !g.Never {
			n += g.Ranks
		}
	}
	return n
}

// minTrain is the shortest training that a cluster tells from none, and the shortest interval between two
// checkpoints of a trace. What is compressed to less is raised.
const minTrain = 100 * time.Millisecond

// Default bounds of a run: for each rank the time that the slowest stack needs to start it, and four times
// the work, because lost work is repeated.
const (
	boundBase    = 2 * time.Minute
	boundPerRank = 200 * time.Millisecond
	boundPerWork = 4
	boundStep    = 10 * time.Second
)

// bound is a generous Cut: at most MaxTime.
func (w Workload) bound() time.Duration {
	var last, longest, work float64 // seconds
	for _, g := range w.Gangs {
		last = max(last, (g.At + g.DeleteAfter).Seconds())
		if !g.Never {
			longest = max(longest, g.Train.Seconds())
			work += g.Train.Seconds() * float64(g.Ranks) * float64(g.GPUs)
		}
	}
	for _, f := range w.Failures {
		last = max(last, (f.At + f.For).Seconds())
	}
	total := boundBase.Seconds() + w.Idle.Seconds() + last + boundPerRank.Seconds()*float64(w.Ranks()) +
		boundPerWork*(longest+work/float64(w.GPUs()))
	steps := math.Ceil(total / boundStep.Seconds())
	if steps >= MaxTime.Seconds()/boundStep.Seconds() {
		return MaxTime
	}
	return time.Duration(steps) * boundStep
}

// seconds as a duration, at most MaxTime.
func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s, MaxTime.Seconds()) * float64(time.Second))
}

// GPUs of the cluster.
func (w Workload) GPUs() int { return w.Nodes * w.GPUsPerNode }
