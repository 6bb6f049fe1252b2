package decision

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// SetCondition sets a condition of the plan's status. A condition that was never true is not set to false:
// kubectl wait does not need it, and a short list is easier to read. A false condition keeps the reason for
// which it became false.
func (p *Plan) SetCondition(o *observation.Observation, kind string, is bool, reason, message string) {
	conditions := p.Status.Conditions
	old := meta.FindStatusCondition(conditions, kind)
	if !is && (old == nil || old.Status == metav1.ConditionFalse) {
		return
	}
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	p.PutCondition(o, kind, status, reason, message)
}

// PutCondition sets a condition of the plan's status, even one that was never true.
func (p *Plan) PutCondition(
	o *observation.Observation, kind string, status metav1.ConditionStatus, reason, message string,
) {
	meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: o.Job.Generation, LastTransitionTime: o.Time(),
	})
}
