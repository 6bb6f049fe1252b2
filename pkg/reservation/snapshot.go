package reservation

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Snapshot is the state of one lane at one time. A lane is a scheduler; on Kueue it is a ClusterQueue.
type Snapshot struct {
	Now time.Time
	// Nodes have their free amounts, less what reservations of other lanes claim. Budgets have the free
	// amounts of quotas, with only the resources that each limits. All names differ.
	Nodes, Budgets []preemption.Node
	// Running are all gangs that hold nodes or budgets of the lane, those of other lanes too. Foreign pods are
	// absent: they only lower the free amounts, so the package assumes that they never end.
	Running []Running
	// Waiting are the queued gangs of the lane, in any order.
	Waiting []Waiting
	// Gates is what the scheduler does about admission gates: GateBlocks, GateIgnored, or "" if this is not
	// known or the lane needs no gates.
	Gates scheduler.Gate
}

// Running is a gang that holds nodes.
type Running struct {
	preemption.Ref
	// Value of its priority class.
	Value int32
	// Holds is what its pods hold by node, and what it uses of a budget, by the budget's name.
	Holds map[string]scheduler.Amounts
	// Began is when it started to run. End is when it probably gives back what it holds: the 80% point of its
	// forecast, and at most its deadline. Zero: unknown. A gang that runs longer than that
	// probably runs for another tenth of its time.
	Began, End time.Time
	// Ending is true from when it begins to end until its last pod has ended.
	Ending bool
	// Pass with which it started; nil: without one.
	Pass *Pass
}

// Waiting is a queued gang.
type Waiting struct {
	preemption.Ref
	// Value of its priority class.
	Value int32
	// Since is when it entered the queue; gangs of one value are served in this order. Blocked is since when
	// it is known to lack capacity; zero: it is not known to.
	Since, Blocked time.Time
	// Needs of each role that lacks ranks. Gangs of one shape may share one slice; a pass then tests the shape
	// once. A gang without Needs is placed, and the package ignores it.
	Needs []preemption.Need
	// Within are the names of the budgets that all these ranks together must fit into.
	Within []string
	// ReserveAfter is how long it must lack capacity until capacity is reserved for it; 0: never.
	ReserveAfter time.Duration
	// Bound is the longest that it will run if it starts now: its deadline, or the measured time of its
	// remaining steps. 0: unknown. Measured: it is measured, so the policy's margin is added.
	Bound    time.Duration
	Measured bool
	// Lendable: it accepts to leave after a save, it has checkpoints, and the last requested save did not fail.
	// Save and Start are how long its last save and start took. Recalls is how often it left lent capacity.
	Lendable    bool
	Save, Start time.Duration
	Recalls     int
	// KeepsOff: the operator can keep its pods off nodes by name.
	KeepsOff bool

	// Reservation, Pass and Hold are as written in its status.
	Reservation *Reservation
	Pass        *Pass
	Hold        Hold
}

// Phase of a reservation.
type Phase string

const (
	// Planned: the mode is DryRun, and no gang is held.
	Planned Phase = "Planned"
	// Kept: gangs that come later are held unless they have a pass.
	Kept Phase = "Kept"
	// Due: the gang fits, or fits once lent capacity is back. Its scheduler should place it.
	Due Phase = "Due"
	// Lapsed: it has ended without success, and the gang gets none for a while.
	Lapsed Phase = "Lapsed"
)

// Reason why a reservation lapsed.
type Reason string

const (
	// TooOld: it was as old as Policy.MaxAge.
	TooOld Reason = "TooOld"
	// DoesNotFit: the gang no longer fits the lane, its budgets, or Policy.MaxSharePercent.
	DoesNotFit Reason = "DoesNotFit"
	// GateIgnored: the scheduler ignores admission gates, so that no gang can be held. The gang gets the next
	// reservation once the scheduler reports that it does not.
	GateIgnored Reason = "GateIgnored"
)

// Reservation of capacity for a gang. It takes effect once it is written in the gang's status.
type Reservation struct {
	Phase Phase
	// Time is when the gang can probably start; zero: unknown.
	Time time.Time
	// Nodes that are kept, sorted. Empty if the gang needs only budgets.
	Nodes []string
	// Since is when it began, Changed when the phase last changed. Fits is since when the gang fits on free
	// capacity; zero: it does not. Each Policy.Placing after it, the capacity is released for one pass.
	Since, Changed, Fits time.Time
	// Moved is how often the nodes changed.
	Moved int
	// Reason of the phase Lapsed.
	Reason Reason
}

// How a gang passes a reservation.
type How string

const (
	// OtherNodes: it starts on other nodes, and within what the reservation leaves of the budgets.
	OtherNodes How = "OtherNodes"
	// EndsBefore: it ends before the reserved capacity is needed.
	EndsBefore How = "EndsBefore"
	// Lent: it leaves after a save when the capacity is needed.
	Lent How = "Lent"
)

// Pass lets a gang start although capacity is reserved for another one. It takes effect once it is written.
type Pass struct {
	How How
	// Until is when the gang has ended (EndsBefore) or is probably recalled (Lent). Zero: it is not bound, or
	// the time is unknown.
	Until time.Time
	// KeepsOff are the nodes that its pods must not use, sorted.
	KeepsOff []string
}

// Hold is for how long a gang was held back although it fitted, in one attempt.
type Hold struct {
	// Before is the sum of the earlier times, Since when the present one began; zero: it is not held.
	Before time.Duration
	Since  time.Time
}

// Total time until now.
func (h Hold) Total(now time.Time) time.Duration {
	if h.Since.IsZero() {
		return h.Before
	}
	return h.Before + max(0, now.Sub(h.Since))
}

// Next is the hold after a pass that holds the gang back, or does not. Time for which a gang is held and does
// not fit anyway does not count.
func (h Hold) Next(held bool, now time.Time) Hold {
	switch {
	case held && h.Since.IsZero():
		h.Since = now
	case !held && !h.Since.IsZero():
		h = Hold{Before: h.Total(now)}
	}
	return h
}

// Equal reports whether two reservations are the same, so that the status needs no write.
func (r *Reservation) Equal(o *Reservation) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Phase == o.Phase && r.Time.Equal(o.Time) && slices.Equal(r.Nodes, o.Nodes) &&
		r.Since.Equal(o.Since) && r.Changed.Equal(o.Changed) && r.Fits.Equal(o.Fits) && r.Moved == o.Moved &&
		r.Reason == o.Reason
}
