package trainingjob

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// setConditions derives every condition from the phase and what is known beside it. A condition that was never true is not
// set to false: `kubectl wait` needs none, and a short list is easier to read.
func (p *pass) setConditions() {
	st := &p.plan.Status
	phase := st.Phase
	reason, message := p.reason, st.Message
	if reason == "" { // no transition: only the blocker moved
		reason = string(phase)
	}
	p.condition(v1alpha1.ConditionRunning, phase == v1alpha1.PhaseRunning, reason, message)
	p.condition(v1alpha1.ConditionRestarting, phase == v1alpha1.PhaseRestarting, reason, message)
	p.condition(v1alpha1.ConditionSuspended, phase == v1alpha1.PhaseSuspended, reason, message)
	p.condition(v1alpha1.ConditionSucceeded, phase == v1alpha1.PhaseSucceeded, reason, message)
	p.condition(v1alpha1.ConditionFailed, phase == v1alpha1.PhaseFailed, reason, message)
	p.setAdmitted(phase, reason, message)
	p.setPreempted(phase)
}

// setAdmitted: while the gang waits, the condition's reason is the blocker's.
func (p *pass) setAdmitted(phase v1alpha1.Phase, reason, message string) {
	switch phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		p.condition(v1alpha1.ConditionAdmitted, true, reason, message)
		return
	case v1alpha1.PhaseSucceeded: // it was admitted to the end
		return
	}
	if b := p.currentBlocker(); b != nil {
		reason, message = b.Reason, b.Message
		if b.NextStep != "" {
			message += "; " + b.NextStep
		}
	}
	meta.SetStatusCondition(&p.plan.Status.Conditions, p.newCondition(v1alpha1.ConditionAdmitted, false, reason, message))
}

// setPreempted: true from the moment that a disruption is settled until the gang runs again.
func (p *pass) setPreempted(phase v1alpha1.Phase) {
	d := p.job.Status.Drain
	left := p.job.Status.Phase == v1alpha1.PhaseDraining && phase != v1alpha1.PhaseDraining
	switch {
	case left && d != nil && (d.Cause == v1alpha1.CauseDisruption || d.Cause == v1alpha1.CauseEviction):
		p.condition(v1alpha1.ConditionPreempted, true, d.Reason, d.Message)
	case phase == v1alpha1.PhaseRunning, phase.Finished():
		p.condition(v1alpha1.ConditionPreempted, false, string(phase), p.plan.Status.Message)
	}
}

func (p *pass) condition(kind string, is bool, reason, message string) {
	if !is && meta.FindStatusCondition(p.plan.Status.Conditions, kind) == nil {
		return
	}
	if !is && meta.IsStatusConditionFalse(p.plan.Status.Conditions, kind) {
		return // it keeps the reason for which it became false
	}
	meta.SetStatusCondition(&p.plan.Status.Conditions, p.newCondition(kind, is, reason, message))
}

func (p *pass) newCondition(kind string, is bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: p.job.Generation, LastTransitionTime: p.now(),
	}
}
