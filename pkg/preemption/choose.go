package preemption

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot of the cluster: all that a choice depends on.
type Snapshot struct {
	Now     time.Time
	Nodes   []Node
	Running []Running
	Waiting []Waiting
	// Plans that are outstanding.
	Plans []Plan
}

// Outcome says what was found for a gang that waits.
type Outcome string

const (
	// Planned: the plan makes room.
	Planned Outcome = "Planned"
	// Patience: it has not lacked room for long.
	Patience Outcome = "Patience"
	// Busy: as many plans are outstanding as may be.
	Busy Outcome = "Busy"
	// Fits: there is room; it is for the scheduler to find it.
	Fits Outcome = "Fits"
	// OnlyProtected: all that could make room have run for too short a time.
	OnlyProtected Outcome = "OnlyProtected"
	// NoCover: not even all that are worth less make enough room.
	NoCover Outcome = "NoCover"
)

// Choice for one gang that waits. Again is when another choice may come out differently though nothing
// happens; zero where only an event can change it.
type Choice struct {
	For     Ref
	Outcome Outcome
	Plan    Plan
	Again   time.Time
}

// Choose for every gang that waits and has no plan: by value, then by age.
func (p Policy) Choose(w Snapshot) []Choice {
	outstanding := slices.Clone(w.Plans)
	var choices []Choice
	for _, waiting := range served(w) {
		c := Choice{For: waiting.Ref}
		switch due := waiting.Blocked.Add(p.Patience); {
		case w.Now.Before(due):
			c.Outcome, c.Again = Patience, due
		case len(outstanding) >= p.MaxPlans:
			c.Outcome = Busy
		default:
			c = p.choose(w, outstanding, waiting, w.Now.Add(waiting.MaxDelay), nil)
		}
		if c.Outcome == Planned {
			outstanding = append(outstanding, c.Plan)
		}
		choices = append(choices, c)
	}
	return choices
}

// served are the gangs without a plan, in the order of service.
func served(w Snapshot) []*Waiting {
	var list []*Waiting
	for i := range w.Waiting {
		has := func(plan Plan) bool { return plan.For == w.Waiting[i].Ref }
		if !slices.ContainsFunc(w.Plans, has) {
			list = append(list, &w.Waiting[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *Waiting) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID))
	})
	return list
}

// choose for one gang, given who gives way to it already.
func (p Policy) choose(
	w Snapshot, outstanding []Plan, waiting *Waiting, deadline time.Time, already []Victim,
) Choice {
	choice := Choice{For: waiting.Ref}
	s := newSpace(left(w, outstanding), waiting)
	for _, g := range w.still(already) {
		s.add(s.shares(g.Holds), 1)
	}
	if s.fits() {
		choice.Outcome = Fits
		return choice
	}
	lapses := waiting.Blocked.Add(waiting.MaxDelay / 2) // from then on nobody is protected
	lesser := slices.DeleteFunc(w.lesser(outstanding, waiting), func(g *Running) bool {
		return slices.ContainsFunc(already, func(v Victim) bool { return v.Ref == g.Ref })
	})
	open := lesser
	if w.Now.Before(lapses) {
		open = slices.DeleteFunc(slices.Clone(lesser), func(g *Running) bool { return p.protected(g, w.Now) })
	}
	price := func(g *Running) Price { return p.Cost(g, w.Now, deadline) }
	victims := s.leastValuable(s.candidates(open, price))
	switch {
	case victims != nil:
		choice.Outcome, choice.Plan = Planned, p.plan(w.Now, waiting, s, victims, deadline)
		choice.Plan.Victims = slices.Concat(already, choice.Plan.Victims)
	case len(open) < len(lesser) && s.leastValuable(s.candidates(lesser, price)) != nil:
		choice.Outcome, choice.Again = OnlyProtected, lapses
	default:
		choice.Outcome = NoCover
	}
	return choice
}

// lesser are the gangs that are worth less, in no plan, not being ended, and known to the preemptor's
// scheduler.
func (w Snapshot) lesser(outstanding []Plan, waiting *Waiting) []*Running {
	var list []*Running
	for i := range w.Running {
		g := &w.Running[i]
		taken := func(plan Plan) bool { return plan.Has(g.Ref) }
		if g.Value < waiting.Value && !g.Foreign && !g.Ending && !slices.ContainsFunc(outstanding, taken) {
			list = append(list, g)
		}
	}
	return list
}

// still are those of some victims that have pods.
func (w Snapshot) still(victims []Victim) []*Running {
	var list []*Running
	for _, v := range victims {
		if g := w.running(v.Ref); g != nil {
			list = append(list, g)
		}
	}
	return list
}

func (w Snapshot) running(ref Ref) *Running {
	i := slices.IndexFunc(w.Running, func(g Running) bool { return g.Ref == ref })
	if i < 0 {
		return nil
	}
	return &w.Running[i]
}

// leastValuable is the cover whose most valuable gang is worth least; nil where there is none.
func (s *space) leastValuable(list []*candidate) []*candidate {
	var values []int32
	for _, c := range list {
		values = append(values, c.gang.Value)
	}
	slices.Sort(values)
	for _, most := range slices.Compact(values) {
		above := func(c *candidate) bool { return c.gang.Value > most }
		affordable := slices.DeleteFunc(slices.Clone(list), above)
		if found := s.cover(affordable); found != nil {
			return found
		}
	}
	return nil
}

// plan for victims that make enough room together. All are to be ready at the same time: the one that saves
// longest is asked first.
func (p Policy) plan(
	now time.Time, waiting *Waiting, s *space, victims []*candidate, deadline time.Time,
) Plan {
	plan := Plan{For: waiting.Ref, Phase: Asking, Round: 1, Began: now, Since: now, Deadline: deadline}
	var longest time.Duration
	for _, c := range victims {
		if c.price.Mode == Save {
			longest = max(longest, save(c.gang))
		}
	}
	plan.Ready = now
	if longest > 0 {
		plan.Ready = earlier(now.Add(p.Heartbeat+longest), deadline)
	}
	for _, c := range victims {
		v := Victim{Ref: c.gang.Ref, Price: c.price}
		if c.price.Mode == Save {
			v.Ask = plan.Ready.Add(-p.Heartbeat - save(c.gang))
			if v.Ask.Before(now) {
				v.Ask = now
			}
		}
		plan.Victims = append(plan.Victims, v)
	}
	l := s.with(victims)
	plan.Claim = s.claim()
	l.undo()
	return plan
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
