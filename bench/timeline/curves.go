package timeline

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// step is what one input changed, or, in sum, how things stand at a time.
type step struct {
	at time.Duration
	// Gangs that have reached that, and gangs that train.
	created, admitted, bound, finished, training int
	// GPUs held by complete gangs and by ranks of others.
	busy, held int
}

func (s step) minus(t step) step {
	return step{
		s.at - t.at, s.created - t.created, s.admitted - t.admitted, s.bound - t.bound, s.finished - t.finished,
		s.training - t.training, s.busy - t.busy, s.held - t.held,
	}
}

func (s step) plus(t step) step {
	return step{
		t.at, s.created + t.created, s.admitted + t.admitted, s.bound + t.bound, s.finished + t.finished,
		s.training + t.training, s.busy + t.busy, s.held + t.held,
	}
}

// counted is what the gang contributes to the curves.
func (g *gang) counted() step {
	s := step{
		created: reached(g.created), admitted: reached(g.admission()), bound: reached(g.placed),
		finished: reached(g.finished), training: reached(g.since),
	}
	alive := g.bound + g.running
	if alive >= g.spec.Ranks {
		s.busy, s.held = alive*g.spec.GPUs, g.ending*g.spec.GPUs
	} else {
		s.held = (alive + g.ending) * g.spec.GPUs
	}
	return s
}

// admission returns when the gang was admitted according to its group or, without that, when it got its first
// node.
func (g *gang) admission() time.Duration {
	if g.admitted < 0 || g.firstBound >= 0 && g.firstBound < g.admitted {
		return g.firstBound
	}
	return g.admitted
}

func reached(t time.Duration) int {
	if t < 0 {
		return 0
	}
	return 1
}

// sorted are the steps in the order of time.
func (t *Timeline) sorted() []step {
	return slices.SortedStableFunc(slices.Values(t.steps),
		func(a, b step) int { return cmp.Compare(a.at, b.at) })
}

// Curves samples the run at n+1 times with the same distance, n at least 1.
func (t *Timeline) Curves(n int) result.Curves {
	var c result.Curves
	steps, now := t.sorted(), step{}
	for i := range n + 1 {
		at := t.end * time.Duration(i) / time.Duration(n)
		for len(steps) > 0 && steps[0].at <= at {
			now, steps = now.plus(steps[0]), steps[1:]
		}
		c.Seconds = append(c.Seconds, at.Seconds())
		c.Created = append(c.Created, now.created)
		c.Admitted = append(c.Admitted, now.admitted)
		c.Bound = append(c.Bound, now.bound)
		c.Finished = append(c.Finished, now.finished)
		c.Training = append(c.Training, now.training)
		c.BusyGPUs = append(c.BusyGPUs, now.busy)
		c.HeldGPUs = append(c.HeldGPUs, now.held)
	}
	return c
}
