package preemption

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Phase of a plan.
type Phase string

const (
	// Asking: its victims are asked to save, or waited for.
	Asking Phase = "Asking"
	// Releasing: all of them are being ended.
	Releasing Phase = "Releasing"
	// Placing: none has a pod left, and the scheduler is to use the room.
	Placing Phase = "Placing"
)

// Plan says who makes room for a gang.
type Plan struct {
	For     Ref
	Phase   Phase
	Victims []Victim
	// Round counts from 1: others may take the room before the gang has it.
	Round int
	// Began is when the first round did, Since when the phase did.
	Began, Since time.Time
	// Ready is when all that were asked should have saved. At the Deadline all are ended.
	Ready, Deadline time.Time
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

// Has reports whether a gang is a victim.
func (p *Plan) Has(g Ref) bool {
	return slices.ContainsFunc(p.Victims, func(v Victim) bool { return v.Ref == g })
}

// due is when a victim is to be ended, or asked to save and end; the deadline where that depends on what it
// does.
func (p *Plan) due(v *Victim) time.Time {
	switch v.Mode {
	case Save:
		return v.Ask
	case Kill:
		return p.Ready
	}
	return p.Deadline
}

// yields reports whether a victim that runs is to give way now.
func (p *Plan) yields(v *Victim, g *Running, now time.Time) bool {
	if v.Mode == NextCheckpoint && g.Saved.After(p.Began) {
		return true
	}
	return !now.Before(p.due(v))
}
