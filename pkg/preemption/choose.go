package preemption

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot of the cluster: the input of a choice.
type Snapshot struct {
	Now     time.Time
	Nodes   []Node
	Running []Running
	Waiting []Waiting
	// Plans that are outstanding.
	Plans []Plan
}

// Outcome of the search for a waiting gang.
type Outcome string

const (
	// Planned: the plan frees enough capacity.
	Planned Outcome = "Planned"
	// Patience: the gang has waited too short a time.
	Patience Outcome = "Patience"
	// Busy: the limit of outstanding plans is reached.
	Busy Outcome = "Busy"
	// Fits: there is capacity, and the scheduler should use it.
	Fits Outcome = "Fits"
	// OnlyProtected: all possible victims have run for too short a time.
	OnlyProtected Outcome = "OnlyProtected"
	// NoCover: all gangs of lower value together do not free enough capacity.
	NoCover Outcome = "NoCover"
)

// Choice for one waiting gang. Again is when another choice may differ without any event; zero: only an event
// can change it.
type Choice struct {
	For     Ref
	Outcome Outcome
	Plan    Plan
	Again   time.Time
}

// Choose returns a choice for every waiting gang without a plan, in the order of value, then age.
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

// served returns the gangs without a plan, in the order of service.
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

// chooseAnywhere chooses for a gang on all nodes that accept it, given the victims that already yield to it.
func (p Policy) chooseAnywhere(
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
	lapses := waiting.Blocked.Add(waiting.MaxDelay / 2) // from then on no gang is protected
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

// lesser returns the gangs of lower value that the preemptor's scheduler can preempt, that are in no plan and
// not ending.
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

// still returns the victims that have pods.
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

// leastValuable returns the cover whose most valuable gang has the lowest value; nil: there is no cover.
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

// plan for victims that together free enough capacity. All should be ready at the same time, so the one with
// the longest save gets its request first.
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

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }
