package reservation

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// Policy holds the settings of the admins.
type Policy struct {
	// DryRun: reservations are reported, and no gang is held.
	DryRun bool
	// MaxReservations is the limit of reservations of a lane.
	MaxReservations int
	// MaxSharePercent is the limit of kept nodes, in percent of the lane's nodes.
	MaxSharePercent int
	// MaxNodes is the limit of kept nodes in all; 0: none.
	MaxNodes int
	// MaxHold is the longest that one attempt of a gang is held back. MaxAge is when a reservation lapses.
	MaxHold, MaxAge time.Duration
	// MarginPercent is added to measured bounds, and to passes until their gangs count as lent.
	MarginPercent int
	// Placing is how long a scheduler may take to use the capacity.
	Placing time.Duration
	// MaxKeepsOff is the limit of nodes that pods can be kept off by name.
	MaxKeepsOff int
}

const (
	// minLent is the shortest time for which capacity is lent.
	minLent = 10 * time.Minute
	// lentStarts is how many times its save and start a gang must have in lent capacity.
	lentStarts = 3
	// maxRecalls of one attempt's work.
	maxRecalls = 3
	// earlierPercent is by how much another set of nodes must be earlier before a reservation moves.
	earlierPercent = 20
	// leastChange is the smallest change of a reservation's time that is written.
	leastChange = time.Minute
)

// bound of a waiting gang with the margin; 0: unknown.
func (p *Policy) bound(g *Waiting) time.Duration {
	if g.Measured {
		return p.withMargin(g.Bound)
	}
	return g.Bound
}

func (p *Policy) withMargin(d time.Duration) time.Duration {
	return d + d*time.Duration(p.MarginPercent)/100
}

// keptNodes is the limit of kept nodes in a lane.
func (p *Policy) keptNodes(nodes int) int {
	kept := nodes * p.MaxSharePercent / 100
	if p.MaxNodes > 0 {
		kept = min(kept, p.MaxNodes)
	}
	return kept
}

// recallable reports whether a running gang must leave when the capacity is needed: it agreed to, or it stays
// longer than its pass. The margin is that of the time for which the pass was given.
func (p *Policy) recallable(g *Running, now time.Time) bool {
	switch {
	case g.Pass == nil || g.Ending:
		return false
	case g.Pass.How == Lent:
		return true
	case g.Pass.How == EndsBefore:
		return !now.Before(p.overstays(g))
	}
	return false
}

// overstays is when a gang has run longer than its pass, with the margin.
func (p *Policy) overstays(g *Running) time.Time {
	return g.Began.Add(p.withMargin(g.Pass.Until.Sub(g.Began)))
}

// Result of a pass.
type Result struct {
	// Reservations that the statuses of the gangs should have. A gang that is absent should have none.
	Reservations map[preemption.Ref]*Reservation
	// Passes that the statuses should have. The operator creates the pods of a gang only after its pass is
	// written. A gang without Pass and without Held starts as if there were no reservations.
	Passes map[preemption.Ref]*Pass
	// Held are the gangs that must not start.
	Held map[preemption.Ref]Held
	// Recalls of lent capacity, for gangs that fit once it is back.
	Recalls []Recall
	// Again is when the next pass is due although nothing has changed; zero: never.
	Again time.Time
}

// Held describes why a gang must not start.
type Held struct {
	// For is the gang that goes first.
	For preemption.Ref
	// Fits is true if the gang would start now without the reservation. Only this counts as a hold.
	Fits bool
}

// Recall asks gangs to leave, so that another one fits.
type Recall struct {
	For     preemption.Ref
	Victims []preemption.Ref
}
