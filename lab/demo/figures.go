package demo

import (
	"time"
)

// Figures are the times of one attempt.
type Figures struct {
	Job     string
	Attempt int32
	// ToBound is the time from the attempt's queueing until all its ranks were bound, FitToBound the time
	// since its GPUs were free. Negative if they were never bound.
	ToBound, FitToBound time.Duration
	// Ran is the time from then until its last rank released its GPUs; negative while it runs.
	Ran time.Duration
	// Preempted is true when the scheduler picked a rank of it, or it was preempted as a unit.
	Preempted bool
}

// timeline is how far one attempt has come.
type timeline struct {
	queued, freed, bound, ended time.Time
	fitted, preempted           bool
}

// measure computes the figures of every attempt, in the order in which the attempts were queued.
func measure(h History) []Figures {
	timelines := map[attempt]*timeline{}
	var order []attempt
	_ = h.each(func(state *ClusterState, r Record) error {
		if j := r.Job; j != nil && !j.Deleted && j.Attempt > 0 {
			a := attempt{j.Name, j.Attempt}
			if timelines[a] == nil {
				timelines[a] = &timeline{queued: r.Time}
				order = append(order, a)
			}
			timelines[a].preempted = timelines[a].preempted || j.Evicted
		}
		for _, a := range order {
			timelines[a].step(state, a, r.Time)
		}
		if p := r.Pod; p != nil && p.Disrupted != "" {
			if c := timelines[attempt{p.Job, p.Attempt}]; c != nil {
				c.preempted = true
			}
		}
		return nil
	})
	figures := make([]Figures, 0, len(order))
	for _, a := range order {
		c := timelines[a]
		f := Figures{Job: a.job, Attempt: a.number, ToBound: -1, FitToBound: -1, Ran: -1, Preempted: c.preempted}
		if !c.bound.IsZero() {
			f.ToBound, f.FitToBound = c.bound.Sub(c.queued), c.bound.Sub(c.freed)
		}
		if !c.ended.IsZero() {
			f.Ran = c.ended.Sub(c.bound)
		}
		figures = append(figures, f)
	}
	return figures
}

// step brings the timeline up to date.
func (c *timeline) step(state *ClusterState, a attempt, now time.Time) {
	job := state.Jobs[a.job]
	held := state.GPUsInUse(a.has)
	switch {
	case c.bound.IsZero():
		// GPUs that another gang took first do not count.
		others := state.GPUsInUse(func(p PodState) bool { return !a.has(p) })
		fits := job.GPUs > 0 && state.TotalGPUs()-others >= job.GPUs
		if fits && !c.fitted {
			c.freed = now
		}
		c.fitted = fits
		if job.Ranks > 0 && count(state.Ranks(a.job, a.number), PodState.HoldsGPUs) == job.Ranks {
			c.bound = now
			if c.freed.IsZero() {
				c.freed = c.queued
			}
		}
	case c.ended.IsZero() && held == 0:
		c.ended = now
	}
}
