package preemption

import (
	"slices"
	"time"
)

// End of a plan.
type End string

const (
	// Closed: the gang no longer waits, because it was placed, suspended or deleted.
	Closed End = "Closed"
	// HandedOver: the plan did not help, and the scheduler preempts by itself.
	HandedOver End = "HandedOver"
)

// Step of a plan.
type Step struct {
	// Plan after the step.
	Plan Plan
	// Ended is empty while the plan is outstanding.
	Ended End
	// Yield are the victims that must yield now. A victim that is asked to save has until the plan's
	// deadline; the caller enforces it.
	Yield []Ref
	// Again is when the next step is due without any event; zero: there is none.
	Again time.Time
}

// Advance an outstanding plan. The result does not depend on how often it is called.
func (p Policy) Advance(w Snapshot, plan Plan) Step {
	i := slices.IndexFunc(w.Waiting, func(g Waiting) bool { return g.Ref == plan.For })
	if i < 0 {
		return Step{Plan: plan, Ended: Closed}
	}
	waiting := &w.Waiting[i]
	others := slices.DeleteFunc(slices.Clone(w.Plans), func(o Plan) bool { return o.For == plan.For })
	plan.Victims = slices.Clone(plan.Victims)
	s := newSpace(left(w, others), waiting.in(plan.Domain))
	if plan.Phase == Asking && !s.spare(w, &plan) {
		return p.nextRound(w, others, waiting, plan)
	}
	if plan.Phase == Asking && w.allGiveWay(plan.Victims) {
		plan.Phase, plan.Since = Releasing, w.Now
	}
	if plan.Phase == Releasing && len(w.still(plan.Victims)) == 0 {
		plan.Phase, plan.Since = Placing, w.Now
	}
	if over := p.overdue(w, &plan); plan.Phase == Releasing && !w.Now.Before(over) {
		return Step{Plan: plan, Ended: HandedOver}
	}
	if plan.Phase != Placing {
		return w.wait(plan)
	}
	switch over := plan.Since.Add(p.Placing); {
	case !s.fits():
		return p.nextRound(w, others, waiting, plan)
	case w.Now.Before(over):
		return Step{Plan: plan, Again: over}
	}
	return Step{Plan: plan, Ended: HandedOver}
}

// overdue is when the plan no longer waits for victims with pods. By then they should have ended, at the
// deadline plus their grace, so their node does not answer.
func (p Policy) overdue(w Snapshot, plan *Plan) time.Time {
	var grace time.Duration
	for _, g := range w.still(plan.Victims) {
		grace = max(grace, g.Grace)
	}
	return plan.Deadline.Add(grace + p.Placing)
}

// wait for victims, and list those that must yield now.
func (w Snapshot) wait(plan Plan) Step {
	step := Step{Plan: plan}
	for i := range plan.Victims {
		v := &plan.Victims[i]
		g := w.running(v.Ref)
		switch {
		case g == nil || g.Ending:
		case plan.yields(v, g, w.Now):
			step.Yield = append(step.Yield, v.Ref)
		case step.Again.IsZero() || plan.due(v).Before(step.Again):
			step.Again = plan.due(v)
		}
	}
	return step
}

// allGiveWay reports whether no victim runs any more.
func (w Snapshot) allGiveWay(victims []Victim) bool {
	return !slices.ContainsFunc(w.still(victims), func(g *Running) bool { return !g.Ending })
}

// spare the victims that are no longer needed and not yet asked: another gang may have ended, or a node been
// added. It reports whether the remaining victims free enough capacity.
func (s *space) spare(w Snapshot, plan *Plan) bool {
	var asked, unasked []*candidate
	for i := range plan.Victims {
		v := &plan.Victims[i]
		g := w.running(v.Ref)
		if g == nil {
			continue
		}
		c := &candidate{gang: g, price: v.Price, shares: s.shares(g.Holds)}
		if g.Ending || plan.yields(v, g, w.Now) {
			asked = append(asked, c)
		} else {
			unasked = append(unasked, c)
		}
	}
	gone := s.with(asked)
	defer gone.undo()
	all := s.with(unasked)
	enough := s.fits()
	all.undo()
	if !enough {
		return false
	}
	needed := s.reduced(unasked)
	plan.Victims = slices.DeleteFunc(plan.Victims, func(v Victim) bool {
		is := func(c *candidate) bool { return c.gang.Ref == v.Ref }
		return slices.ContainsFunc(unasked, is) && !slices.ContainsFunc(needed, is)
	})
	then := s.with(needed)
	plan.Claim = s.claim()
	then.undo()
	return true
}

// nextRound plans again with the same deadline. Victims that already yield remain victims.
func (p Policy) nextRound(w Snapshot, others []Plan, waiting *Waiting, plan Plan) Step {
	already := slices.DeleteFunc(slices.Clone(plan.Victims), func(v Victim) bool {
		g := w.running(v.Ref)
		return g != nil && !g.Ending && !plan.yields(&v, g, w.Now)
	})
	if plan.Round < p.MaxRounds && w.Now.Before(plan.Deadline) {
		already = append(already, w.orphans(others, already)...)
		c := p.choose(w, others, waiting, plan.Deadline, already)
		if c.Outcome == OnlyProtected {
			// The scheduler would also preempt gangs that began recently, without a save.
			unprotecting := *waiting
			unprotecting.Blocked = w.Now.Add(-waiting.MaxDelay)
			c = p.choose(w, others, &unprotecting, plan.Deadline, already)
		}
		switch c.Outcome {
		case Planned:
			c.Plan.Round, c.Plan.Began = plan.Round+1, plan.Began
			return w.wait(c.Plan)
		case Fits: // with the capacity of gangs that end anyway
			plan.Victims, plan.Phase, plan.Since = already, Releasing, w.Now
			plan.Round++
			plan.Domain = c.Plan.Domain
			plan.Claim = w.ClaimOf(plan, waiting)
			return w.wait(plan)
		}
	}
	plan.Victims = already
	return Step{Plan: plan, Ended: HandedOver}
}

// orphans are ending gangs of no plan: their preemptor was placed on capacity freed for this gang, or is
// deleted.
func (w Snapshot) orphans(outstanding []Plan, already []Victim) []Victim {
	var list []Victim
	for i := range w.Running {
		g := &w.Running[i]
		taken := slices.ContainsFunc(outstanding, func(p Plan) bool { return p.Has(g.Ref) }) ||
			slices.ContainsFunc(already, func(v Victim) bool { return v.Ref == g.Ref })
		if g.Ending && !taken {
			list = append(list, Victim{Ref: g.Ref, Price: Price{Mode: EndsByItself}})
		}
	}
	return list
}
