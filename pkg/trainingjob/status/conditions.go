package status

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// ofPhase lists the conditions that are true in one phase.
var ofPhase = []struct {
	condition string
	phase     v1alpha1.Phase
}{
	{v1alpha1.ConditionRunning, v1alpha1.PhaseRunning},
	{v1alpha1.ConditionRestarting, v1alpha1.PhaseRestarting},
	{v1alpha1.ConditionSuspended, v1alpha1.PhaseSuspended},
	{v1alpha1.ConditionSucceeded, v1alpha1.PhaseSucceeded},
	{v1alpha1.ConditionFailed, v1alpha1.PhaseFailed},
}

// setConditions derives the conditions from the phase and the blocker. reason is the transition's; "" without
// one.
func setConditions(o *observation.Observation, p *decision.Plan, reason string) {
	phase, message := p.Status.Phase, p.Status.Message
	reason = cmp.Or(reason, string(phase)) // only the blocker has changed
	for _, c := range ofPhase {
		p.SetCondition(o, c.condition, phase == c.phase, reason, message)
	}
	setCreated(o, p)
	setAdmitted(o, p, reason)
	setReady(o, p)
	setPreempted(o, p)
	setMakingRoom(o, p)
	setResumeNeedsReports(o, p)
	setInvalidSpec(o, p)
	setTopology(o, p)
	setStalled(o, p)
	setRehearsed(o, p)
}

// setResumeNeedsReports warns of an object store, and of restart scope Rank, while reports are off. The
// operator searches volumes between two attempts, but has no credentials for an object store. There it
// depends on the reports of rank 0, and a rank whose node is lost reports nothing.
func setResumeNeedsReports(o *observation.Observation, p *decision.Plan) {
	c := spec.Checkpoints(o.Job)
	asks := spec.AsksToResume(o.Job)
	if c == nil || spec.OnVolume(c) && !asks || o.Agent.ReportURL != "" || p.Status.Phase.Finished() {
		p.SetCondition(o, v1alpha1.ConditionResumeNeedsReports, false, v1alpha1.ReasonReportsOn,
			"the loss of a node loses no report that the operator needs")
		return
	}
	message := "the operator has no report server, and searches no object store: " +
		"when the node of rank 0 is lost, the job resumes from the last known checkpoint, " +
		"or starts from the beginning; " +
		"use storage pvc, or ask the admin to turn reports on (deploy/reports)"
	if asks {
		message = "the operator has no report server: a rank that starts again alone cannot ask for the latest " +
			"checkpoint, and resumes from the one of its attempt, or starts from the beginning; " +
			"set restartScope Gang, or ask the admin to turn reports on (deploy/reports)"
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionResumeNeedsReports) {
		p.Warning(v1alpha1.ConditionResumeNeedsReports, "Resume", message)
	}
	p.SetCondition(o, v1alpha1.ConditionResumeNeedsReports, true, v1alpha1.ReasonReportsOff, message)
}

// setCreated makes the condition true with the first status of a job that can be run. It stays.
func setCreated(o *observation.Observation, p *decision.Plan) {
	if len(o.Rejected) == 0 {
		p.SetCondition(o, v1alpha1.ConditionCreated, true, v1alpha1.ReasonAccepted, "the spec is valid")
	}
}

// setReady derives the condition from the counts, with which it is written.
func setReady(o *observation.Observation, p *decision.Plan) {
	phase := p.Status.Phase
	if phase.Finished() {
		p.SetCondition(o, v1alpha1.ConditionReady, false, string(phase), "the job has finished")
		return
	}
	ready, total := p.Status.ReadyReplicas, o.Total()
	for _, role := range p.Status.ReplicaStatuses {
		ready += role.Succeeded
	}
	if total > 0 && ready == total && (phase == v1alpha1.PhaseRunning || phase == v1alpha1.PhaseStarting) {
		p.SetCondition(o, v1alpha1.ConditionReady, true, v1alpha1.ReasonRanksReady,
			"every rank is ready or has succeeded")
		return
	}
	p.SetCondition(o, v1alpha1.ConditionReady, false, v1alpha1.ReasonRanksNotReady,
		"a rank is neither ready nor has succeeded")
}

// setInvalidSpec reports a spec that became invalid after the job was queued.
func setInvalidSpec(o *observation.Observation, p *decision.Plan) {
	if b, invalid := invalidSpec(o); invalid && o.Job.Status.Attempt > 0 {
		p.SetCondition(o, v1alpha1.ConditionInvalidSpec, true, v1alpha1.ReasonInvalidSpec, b.Message)
		return
	}
	p.SetCondition(o, v1alpha1.ConditionInvalidSpec, false, v1alpha1.ReasonSpecValid, "the spec is valid")
}

// setAdmitted gives the condition the blocker's reason while the gang waits.
func setAdmitted(o *observation.Observation, p *decision.Plan, reason string) {
	message := p.Status.Message
	switch p.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		p.SetCondition(o, v1alpha1.ConditionAdmitted, true, reason, message)
		return
	case v1alpha1.PhaseSucceeded: // it stays admitted
		return
	}
	if b := currentBlocker(p); b != nil {
		reason, message = b.Reason, b.Message
		if b.NextStep != "" {
			message += "; " + b.NextStep
		}
	}
	p.PutCondition(o, v1alpha1.ConditionAdmitted, metav1.ConditionFalse, reason, message)
}

// setPreempted makes the condition true from the settled disruption until the gang runs again.
func setPreempted(o *observation.Observation, p *decision.Plan) {
	phase, d := p.Status.Phase, o.Job.Status.Drain
	left := o.Job.Status.Phase == v1alpha1.PhaseDraining && phase != v1alpha1.PhaseDraining
	switch {
	case left && d != nil && isPreemption(d.Cause):
		p.SetCondition(o, v1alpha1.ConditionPreempted, true, d.Reason, d.Message)
	case phase == v1alpha1.PhaseRunning, phase.Finished():
		p.SetCondition(o, v1alpha1.ConditionPreempted, false, string(phase), p.Status.Message)
	}
}

func isPreemption(cause v1alpha1.DrainCause) bool {
	switch cause {
	case v1alpha1.CauseDisruption, v1alpha1.CauseEviction, v1alpha1.CauseBrokered:
		return true
	}
	return false
}

// setMakingRoom makes the condition true while a plan is carried out.
func setMakingRoom(o *observation.Observation, p *decision.Plan) {
	if s := p.Status.Scheduling; s != nil && s.Preemption != nil && observation.IsOutstanding(s.Preemption) {
		where := ""
		if s.Preemption.Domain != "" {
			where = " in " + s.Preemption.Domain
		}
		p.SetCondition(o, v1alpha1.ConditionMakingRoom, true, string(s.Preemption.Phase), fmt.Sprintf(
			"%s to this one%s (round %d)", victimsYield(s.Preemption.VictimCount), where, s.Preemption.Round))
		return
	}
	p.SetCondition(o, v1alpha1.ConditionMakingRoom, false, string(p.Status.Phase),
		"no gang yields to this one")
}

func victimsYield(n int32) string {
	if n == 1 {
		return "1 gang of a lower priority yields"
	}
	return fmt.Sprintf("%d gangs of a lower priority yield", n)
}

// currentBlocker is the blocker in the plan's status; nil without one.
func currentBlocker(p *decision.Plan) *v1alpha1.Blocker {
	if s := p.Status.Scheduling; s != nil {
		return s.Blocker
	}
	return nil
}
