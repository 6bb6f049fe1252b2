package account

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// RecordRehearsal writes what is known of the attempts of a rehearsal: now, which is with another change of
// the status, or while an attempt drains, since the data may be lost with its pods. It reports whether it
// changed the status.
func RecordRehearsal(o *observation.Observation, p *decision.Plan, now bool) bool {
	r := o.Rehearsal
	if r == nil || len(r.Attempts) == 0 || !now && o.Job.Status.Phase != v1alpha1.PhaseDraining {
		return false
	}
	if p.Status.Rehearsal == nil {
		p.Status.Rehearsal = &v1alpha1.RehearsalStatus{}
	}
	st := p.Status.Rehearsal
	if apiequality.Semantic.DeepEqual(st.Attempts, r.Attempts) {
		return false
	}
	st.Attempts = nil
	for i := range r.Attempts {
		st.Attempts = append(st.Attempts, *r.Attempts[i].DeepCopy())
	}
	return true
}
