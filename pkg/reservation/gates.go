package reservation

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Gated is a waiting gang of a lane whose scheduler has admission gates.
type Gated struct {
	preemption.Ref
	// Value and Since as in Waiting.
	Value int32
	Since time.Time
	// Closed: its group has the gate. Held: a reservation holds it. NotAdmissible: the scheduler does not try
	// it, gated or not. Fits: it fits the free quota now.
	Closed, Held, NotAdmissible, Fits bool
}

// Ungate returns the gangs that lose their gates: those that no reservation holds, and that are among the
// first scheduler.MaxUngated of the lane, or among the first of those that fit. The scheduler compares only
// these, with or without a reservation: a gate cannot be closed again.
func Ungate(lane []Gated) []preemption.Ref {
	lane = slices.Clone(lane)
	slices.SortFunc(lane, func(a, b Gated) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID))
	})
	var open []preemption.Ref
	before, fitting := 0, 0 // gangs that precede, and those of them that fit
	for i := range lane {
		g := &lane[i]
		if g.Held || g.NotAdmissible {
			continue
		}
		if g.Closed && (before < scheduler.MaxUngated || g.Fits && fitting < scheduler.MaxUngated) {
			open = append(open, g.Ref)
		}
		before++
		if g.Fits {
			fitting++
		}
	}
	return open
}
