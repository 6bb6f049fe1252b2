package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// setRehearsed writes the checks of a rehearsal, and the condition. Once the job has finished, they stay.
func setRehearsed(o *observation.Observation, p *decision.Plan) {
	r := o.Rehearsal
	if r == nil {
		return
	}
	if p.Status.Rehearsal == nil {
		p.Status.Rehearsal = &v1alpha1.RehearsalStatus{}
	}
	st, end := p.Status.Rehearsal, rehearsal.Ending{}
	over := p.Status.Phase.Finished()
	if over {
		if end = decision.RehearsalEnding(o); !end.Over { // another rule has ended the job
			end = rehearsal.Ending{Over: true, Problem: p.Status.Message}
		}
	}
	checks, result := rehearsal.Judge(r.Policy, st.Attempts, end)
	st.Checks, st.Result = checks, result
	message := rehearsal.Summary(r.Policy, st.Attempts, end, checks, result)
	status, reason := metav1.ConditionUnknown, v1alpha1.ReasonRehearsalRunning
	switch result {
	case v1alpha1.RehearsalResultPassed:
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonRehearsalPassed
	case v1alpha1.RehearsalResultFailed:
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonRehearsalFailed
	case v1alpha1.RehearsalResultIncomplete:
		reason = v1alpha1.ReasonRehearsalIncomplete
	}
	p.PutCondition(o, v1alpha1.ConditionRehearsed, status, reason, message)
}
