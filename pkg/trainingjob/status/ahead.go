package status

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// saveAhead writes down that the trainer is asked to save and to train on: the answer to its next report is
// read from there. It reports whether it did.
func saveAhead(o *observation.Observation, p *decision.Plan) bool {
	st := &p.Status
	if o.SaveAhead == nil || !decision.CanBeAsked(o) || decision.Ahead(st) != nil {
		return false
	}
	cs := p.Checkpoint()
	cs.Ahead = &v1alpha1.SaveAheadStatus{
		Attempt: st.Attempt, CommandID: fmt.Sprintf("ahead-%d-%d", st.Attempt, o.Now.Unix()), Time: o.Time(),
		Name: o.SaveAhead.Name,
	}
	if cs.Latest != nil {
		cs.Ahead.AfterStep = cs.Latest.Step
	}
	p.Note("asked to save ahead of a preemption: %s", cs.Ahead.CommandID)
	return true
}
