package preemption

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler"
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

// Plan says who makes room for a gang.
type Plan struct {
	For     Ref
	Victims []Victim
	// Deadline at which those that have not saved are ended.
	Deadline time.Time
	// Claim is what the gang takes of each node, once its victims are gone.
	Claim map[string]scheduler.Amounts
}

// Victim of a plan.
type Victim struct {
	Ref
	Price
	// Ask is when it is asked, so that all are ready at the same time; zero where it is not asked.
	Ask time.Time
}

// Cost of all victims, in GPU-seconds.
func (p *Plan) Cost() int64 {
	var sum int64
	for _, v := range p.Victims {
		sum += v.GPUSeconds
	}
	return sum
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
			c = p.choose(w, outstanding, waiting)
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

func (p Policy) choose(w Snapshot, outstanding []Plan, waiting *Waiting) Choice {
	choice := Choice{For: waiting.Ref}
	s := newSpace(left(w, outstanding), waiting.Needs)
	if s.fits() {
		choice.Outcome = Fits
		return choice
	}
	deadline := w.Now.Add(waiting.MaxDelay)
	lapses := waiting.Blocked.Add(waiting.MaxDelay / 2) // from then on nobody is protected
	lesser := lesser(w, outstanding, waiting)
	open := lesser
	if w.Now.Before(lapses) {
		open = slices.DeleteFunc(slices.Clone(lesser), func(g *Running) bool { return p.protected(g, w.Now) })
	}
	price := func(g *Running) Price { return p.Cost(g, w.Now, deadline) }
	victims := s.leastValuable(s.candidates(open, price))
	switch {
	case victims != nil:
		choice.Outcome, choice.Plan = Planned, p.plan(w.Now, waiting, s, victims)
	case len(open) < len(lesser) && s.leastValuable(s.candidates(lesser, price)) != nil:
		choice.Outcome, choice.Again = OnlyProtected, lapses
	default:
		choice.Outcome = NoCover
	}
	return choice
}

// lesser are the gangs that are worth less, in no plan, and known to the preemptor's scheduler.
func lesser(w Snapshot, outstanding []Plan, waiting *Waiting) []*Running {
	taken := map[Ref]bool{}
	for _, plan := range outstanding {
		for _, v := range plan.Victims {
			taken[v.Ref] = true
		}
	}
	var list []*Running
	for i := range w.Running {
		if g := &w.Running[i]; g.Value < waiting.Value && !g.Foreign && !taken[g.Ref] {
			list = append(list, g)
		}
	}
	return list
}

// left is what the nodes have beyond what outstanding plans claim, once their victims are gone.
func left(w Snapshot, outstanding []Plan) []Node {
	more := map[string]scheduler.Amounts{}
	add := func(by map[string]scheduler.Amounts, sign int64) {
		for node, amounts := range by {
			if more[node] == nil {
				more[node] = scheduler.Amounts{}
			}
			for name, n := range amounts {
				more[node][name] += sign * n
			}
		}
	}
	holds := map[Ref]map[string]scheduler.Amounts{}
	for i := range w.Running {
		holds[w.Running[i].Ref] = w.Running[i].Holds
	}
	for _, plan := range outstanding {
		for _, v := range plan.Victims {
			add(holds[v.Ref], 1)
		}
		add(plan.Claim, -1)
	}
	nodes := slices.Clone(w.Nodes)
	for i := range nodes {
		changes, changed := more[nodes[i].Name]
		if !changed {
			continue
		}
		free := maps.Clone(nodes[i].Free)
		for name, n := range changes {
			free[name] += n
		}
		nodes[i].Free = free
	}
	return nodes
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
func (p Policy) plan(now time.Time, waiting *Waiting, s *space, victims []*candidate) Plan {
	plan := Plan{For: waiting.Ref, Deadline: now.Add(waiting.MaxDelay)}
	var longest time.Duration
	for _, c := range victims {
		if c.price.Mode == Save {
			longest = max(longest, save(c.gang))
		}
	}
	ready := now.Add(p.Heartbeat + longest)
	if ready.After(plan.Deadline) {
		ready = plan.Deadline
	}
	for _, c := range victims {
		v := Victim{Ref: c.gang.Ref, Price: c.price}
		if c.price.Mode == Save {
			v.Ask = ready.Add(-p.Heartbeat - save(c.gang))
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
