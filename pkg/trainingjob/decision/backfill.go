package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// HeldFor returns the reservation for which a queued gang must not start; nil: there is none. A gang that has
// a rank on a node goes on.
func HeldFor(o *observation.Observation) *observation.Held {
	if o.Backfill == nil || o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Placed() > 0 {
		return nil
	}
	return o.Backfill.Held
}

// holdForReservation deletes the pods of a gang that must not start, or whose pods must avoid other nodes. It
// reports whether nothing may be created now: a pass takes effect once it is written.
func holdForReservation(o *observation.Observation, p *Plan) bool {
	b, st := o.Backfill, &o.Job.Status
	if b == nil || st.Phase != v1alpha1.PhaseQueued || o.Placed() > 0 {
		return false
	}
	switch {
	case b.Held != nil:
		p.deletePods(o.Live, "the capacity is reserved for another gang")
	case b.MovesOff(st):
		p.deletePods(o.Live, "the nodes that it avoids change")
	case !b.AwaitsPass(st):
		return false
	}
	p.WakeAt(o.Now.Add(heldRecheck))
	return true
}
