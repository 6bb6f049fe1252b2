// Package timeline answers one question: what became of the gangs of a run, given what a watch saw and when?
//
// It is pure: every input has its time since the start of the run. It also simulates the trainers, the same
// for every stack: a gang trains while all of its ranks run, saves after every interval of training, and
// falls back to its latest save when it loses a rank. A trainer saves nothing when it is stopped, and takes
// no time to start.
//
//	Submitted, Admitted, See, Deleted --> Timeline --> Gangs, Curves, totals
//	                               \--> Training: when a gang will have finished
//
//	timeline.go  inputs
//	gang.go      one gang: its ranks and its training
//	curves.go    what is counted over time
//	totals.go    the figures of the run
package timeline

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Event is what a watch saw of one rank's pod.
type Event struct {
	// At is the time since the start of the run.
	At   time.Duration
	Gang string
	UID  types.UID
	// State is the pod's last one that was seen.
	State State
}

// State of a pod, as far as a benchmark looks at it.
type State int

const (
	// Pending: it exists, on no node.
	Pending State = iota
	// Bound: it has a node and does not run yet.
	Bound
	// Running on its node.
	Running
	// EndingUnbound: it is being deleted and has no node.
	EndingUnbound
	// Ending: it is being deleted, and holds its GPUs until it is gone.
	Ending
	// Ended: it has succeeded or failed.
	Ended
	// Gone: it does not exist any more.
	Gone
)

// Timeline of one run. It is for one goroutine.
type Timeline struct {
	// gpus of the cluster.
	gpus  int
	gangs []*gang
	names map[string]*gang
	steps []step
	end   time.Duration
	// unknown counts events of gangs that the workload does not have.
	unknown int
}

// New returns the timeline of a run that has not begun.
func New(w workload.Workload) *Timeline {
	t := &Timeline{gpus: w.GPUs(), names: make(map[string]*gang, len(w.Gangs))}
	for i := range w.Gangs {
		g := newGang(w.Gangs[i])
		t.gangs = append(t.gangs, g)
		t.names[g.spec.Name] = g
	}
	return t
}

// Training says that a gang trains from now on.
type Training struct {
	Gang string
	// Attempt counts the gang's starts, from 1. An interruption makes an earlier Training invalid.
	Attempt int
	// Left is how long it must train until it has finished; zero when it trains as long as the run.
	Left time.Duration
}

// Submitted is called right before the request that creates the gang.
func (t *Timeline) Submitted(name string, at time.Duration) {
	t.to(at)
	if g := t.names[name]; g != nil && g.submitted < 0 {
		g.submitted = at
	}
}

// Admitted is called when the gang's group says that it may go ahead. Only the first time counts.
func (t *Timeline) Admitted(name string, at time.Duration) {
	t.to(at)
	if g := t.names[name]; g != nil && g.admitted < 0 {
		t.change(g, at, func() { g.admitted = at })
	}
}

// Deleted is called right before the request that deletes the gang, on behalf of its user.
func (t *Timeline) Deleted(name string, at time.Duration) {
	t.to(at)
	if g := t.names[name]; g != nil && g.finished < 0 {
		t.change(g, at, func() { g.end(at) })
	}
}

// See takes what a watch saw of a pod. When the gang trains from now on it says so, else it returns nil.
func (t *Timeline) See(e Event) *Training {
	t.to(e.At)
	g := t.names[e.Gang]
	if g == nil {
		t.unknown++
		return nil
	}
	attempt := g.attempt
	t.change(g, e.At, func() { g.see(e) })
	if g.attempt == attempt {
		return nil
	}
	return &Training{Gang: e.Gang, Attempt: g.attempt, Left: g.left()}
}

// Finish is called when a gang has trained for the time that Training returned. It reports whether the gang
// has finished; then its pods must succeed.
func (t *Timeline) Finish(name string, attempt int, at time.Duration) bool {
	t.to(at)
	g := t.names[name]
	if g == nil || g.attempt != attempt || !g.training() {
		return false
	}
	t.change(g, at, func() { g.finish(at) })
	return true
}

// change applies an input to a gang and counts what it made of it.
func (t *Timeline) change(g *gang, at time.Duration, apply func()) {
	before := g.counted()
	apply()
	if d := g.counted().minus(before); d != (step{}) {
		d.at = at
		t.count(d)
	}
}

func (t *Timeline) count(s step) { t.steps = append(t.steps, s) }

// to moves the time forward. Inputs of several watches may arrive a little out of order; nothing depends on
// it but the order of the steps, which are sorted when they are read.
func (t *Timeline) to(at time.Duration) { t.end = max(t.end, at) }

// Counts of gangs, those left out that never fit.
type Counts struct{ All, Submitted, Running, Finished, Pods int }

// Counts of the gangs now. Running is those of which every rank runs; Pods exist and have not ended.
func (t *Timeline) Counts() Counts {
	var c Counts
	for _, g := range t.gangs {
		c.Pods += g.pending + g.bound + g.running + g.ending
		if g.spec.Never {
			continue
		}
		c.All++
		if g.submitted >= 0 {
			c.Submitted++
		}
		if g.finished >= 0 {
			c.Finished++
		} else if g.running == g.spec.Ranks {
			c.Running++
		}
	}
	return c
}

// Placed reports whether every gang that fits runs: as many as there are, or until the GPUs that are left are
// too few for any that waits.
func (t *Timeline) Placed() bool {
	free, smallest := t.gpus, math.MaxInt
	for _, g := range t.gangs {
		if g.spec.Never || g.finished >= 0 {
			continue
		}
		if g.submitted < 0 {
			return false
		}
		if need := g.spec.Ranks * g.spec.GPUs; g.running >= g.spec.Ranks {
			free -= need
		} else {
			smallest = min(smallest, need)
		}
	}
	return smallest > free
}

// Finished reports whether every gang that fits has finished.
func (t *Timeline) Finished() bool {
	c := t.Counts()
	return c.Finished == c.All
}

// Unknown is the number of events of gangs that the workload does not have: more than zero is a mistake of
// the harness.
func (t *Timeline) Unknown() int { return t.unknown }
