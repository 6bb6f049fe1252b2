package status

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// refreshBackfill writes the reservation and the pass of a queued gang at once, since the operator acts only
// on what is written. A gang that runs keeps its pass. It reports whether it changed the status.
func refreshBackfill(o *observation.Observation, p *decision.Plan) bool {
	s, next := p.Status.Scheduling, o.Backfill
	if next == nil || s == nil || p.Status.Phase != v1alpha1.PhaseQueued || next.IsWritten(&p.Status) {
		return false
	}
	before, after := s.Reservation, next.Reservation
	s.Reservation, s.Backfill = after.DeepCopy(), next.Pass.DeepCopy()
	switch {
	case after != nil && (before == nil || before.Phase != after.Phase):
		p.Note("reservation: %s", after.Message)
	case after == nil && before != nil:
		p.Note("the reservation ends")
	case next.Pass != nil && next.Pass.How != "":
		p.Note("passes a reservation: %s", next.Pass.How)
	}
	return true
}

// reservedBlocker explains that another gang goes first.
func reservedBlocker(held *observation.Held) v1alpha1.Blocker {
	first, what, start := "a job of another namespace", "its quota is reserved", "when it starts is unknown"
	if held.Name != "" {
		first = "job " + held.Name
	}
	if held.Nodes > 0 {
		what = observation.Plural(int32(held.Nodes), "node") + " are reserved"
	}
	if !held.Time.IsZero() {
		start = "it probably starts at about " + held.Time.UTC().Format("2006-01-02 15:04 MST")
	}
	return v1alpha1.Blocker{
		Reason:  v1alpha1.ReasonRoomReserved,
		Message: fmt.Sprintf("%s for %s, which goes first; %s", what, first, start),
		NextStep: "to start earlier, set runPolicy.activeDeadlineSeconds so that the job ends before, or " +
			"schedulingPolicy.backfill Lent with spec.checkpoint",
	}
}
