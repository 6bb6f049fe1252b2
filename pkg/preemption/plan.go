package preemption

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Phase of a plan.
type Phase string

const (
	// Asking: the operator asks its victims to save, or waits for them.
	Asking Phase = "Asking"
	// Releasing: all victims are ending.
	Releasing Phase = "Releasing"
	// Placing: no victim has a pod, and the scheduler should use the capacity.
	Placing Phase = "Placing"
)

// Plan of which gangs yield to a gang.
type Plan struct {
	For     Ref
	Phase   Phase
	Victims []Victim
	// Round counts from 1: other pods may take the freed capacity.
	Round int
	// Began is when the first round began, Since when the phase began.
	Began, Since time.Time
	// Ready is when all asked victims should have saved. At the Deadline all victims are stopped.
	Ready, Deadline time.Time
	// Domain in which the victims free capacity; empty for a gang without Domains.
	Domain string
	// Claim is what the gang takes of each node after its victims have ended.
	Claim map[string]scheduler.Amounts
}

// Victim of a plan.
type Victim struct {
	Ref
	Price
	// Ask is when the victim gets its request, so that all are ready at the same time; zero: no request.
	Ask time.Time
}

// Has reports whether a gang is a victim.
func (p *Plan) Has(g Ref) bool {
	return slices.ContainsFunc(p.Victims, func(v Victim) bool { return v.Ref == g })
}

// due is when a victim must end, or save and end; the deadline if that depends on the victim.
func (p *Plan) due(v *Victim) time.Time {
	switch v.Mode {
	case Save:
		return v.Ask
	case Kill:
		return p.Ready
	}
	return p.Deadline
}

// yields reports whether a running victim must yield now.
func (p *Plan) yields(v *Victim, g *Running, now time.Time) bool {
	if v.Mode == NextCheckpoint && g.Saved.After(p.Began) {
		return true
	}
	return !now.Before(p.due(v))
}
