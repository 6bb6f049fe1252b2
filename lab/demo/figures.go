package demo

import (
	"time"
)

// Figures are what a history says of one attempt.
type Figures struct {
	Job     string
	Attempt int32
	// ToBound is from the attempt's queueing until all its ranks were bound; RoomToBound from when its GPUs were free and it
	// was queued. Negative where it did not come to it.
	ToBound, RoomToBound time.Duration
	// Ran is from there until its last rank gave its GPUs back; negative while it runs.
	Ran time.Duration
	// Preempted: the scheduler picked a rank of it, or asked for all its places.
	Preempted bool
}

// course is one attempt on its way.
type course struct {
	queued, room, bound, ended time.Time
	hadRoom, preempted         bool
}

// measure gives the figures of every attempt, in the order in which they were queued.
func measure(h History) []Figures {
	courses := map[attempt]*course{}
	var order []attempt
	_ = h.each(func(w *World, r Record) error {
		if j := r.Job; j != nil && !j.Deleted && j.Attempt > 0 {
			a := attempt{j.Name, j.Attempt}
			if courses[a] == nil {
				courses[a] = &course{queued: r.Time}
				order = append(order, a)
			}
			courses[a].preempted = courses[a].preempted || j.Evicted
		}
		for _, a := range order {
			courses[a].step(w, a, r.Time)
		}
		if p := r.Pod; p != nil && p.Disrupted != "" {
			if c := courses[attempt{p.Job, p.Attempt}]; c != nil {
				c.preempted = true
			}
		}
		return nil
	})
	figures := make([]Figures, 0, len(order))
	for _, a := range order {
		c := courses[a]
		f := Figures{Job: a.job, Attempt: a.number, ToBound: -1, RoomToBound: -1, Ran: -1, Preempted: c.preempted}
		if !c.bound.IsZero() {
			f.ToBound, f.RoomToBound = c.bound.Sub(c.queued), c.bound.Sub(c.room)
		}
		if !c.ended.IsZero() {
			f.Ran = c.ended.Sub(c.bound)
		}
		figures = append(figures, f)
	}
	return figures
}

// step brings one attempt up to the world of now.
func (c *course) step(w *World, a attempt, now time.Time) {
	job := w.Jobs[a.job]
	held := w.Held(a.has)
	switch {
	case c.bound.IsZero():
		// Room that comes and goes again (another gang was faster) is no room.
		others := w.Held(func(p PodState) bool { return !a.has(p) })
		room := job.GPUs > 0 && w.Capacity()-others >= job.GPUs
		if room && !c.hadRoom {
			c.room = now
		}
		c.hadRoom = room
		if job.Ranks > 0 && count(w.Ranks(a.job, a.number), PodState.Holds) == job.Ranks {
			c.bound = now
			if c.room.IsZero() {
				c.room = c.queued
			}
		}
	case c.ended.IsZero() && held == 0:
		c.ended = now
	}
}
