package status

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// refreshPreemption writes the planned victims for a gang that lacks capacity. It writes at once if there was
// no plan or if victims exist now or no longer; else with the next write of the blocker, or after
// blockerRefresh. The delay matters because two victims of similar cost swap places with each checkpoint. It
// reports whether it changed the status.
func refreshPreemption(o *observation.Observation, p *decision.Plan, blockerWritten bool) bool {
	next := o.Preemption
	if s := p.Status.Scheduling; next == nil && !o.Brokers && s != nil && s.PreemptionGate {
		next = &v1alpha1.PreemptionStatus{ // the admin has disabled the broker, and the gate is open
			Outcome: v1alpha1.PreemptionNotPlanned, Phase: v1alpha1.PreemptionHandedOver,
		}
	}
	if next == nil || !showsPlan(&p.Status, next) {
		return false
	}
	old := p.Status.Scheduling.Preemption
	if next.Phase != "" || old != nil && old.Phase != "" {
		return writePlan(o, p, next)
	}
	if old != nil && old.ObservedTime != nil {
		if sameVictims(old, next) {
			return false
		}
		planned := v1alpha1.PreemptionPlanned
		atOnce := blockerWritten || (old.Outcome == planned) != (next.Outcome == planned)
		if due := old.ObservedTime.Add(blockerRefresh(o)); !atOnce && o.Now.Before(due) {
			p.WakeAt(due)
			return false
		}
	}
	t, plan := o.Time(), next.DeepCopy()
	plan.ObservedTime = &t
	p.Status.Scheduling.Preemption = plan
	if old == nil || old.Outcome != plan.Outcome {
		p.Note("preemption, dry run: %s, %s", plan.Outcome, observation.Plural(plan.VictimCount, "victim"))
	}
	return true
}

// showsPlan reports whether the status of a queued gang shows a plan: it lacks capacity, or it has a waiting
// class or a preemption gate. A gang with one of these can wait for its scheduler once there is capacity.
func showsPlan(st *v1alpha1.TrainingJobStatus, next *v1alpha1.PreemptionStatus) bool {
	s := st.Scheduling
	if st.Phase != v1alpha1.PhaseQueued || s == nil {
		return false
	}
	if next.Phase == v1alpha1.PreemptionHandedOver {
		return s.PreemptionGate // otherwise the hand-over is a transition
	}
	return s.WaitingClass != "" || s.PreemptionGate || observation.LacksCapacity(st)
}

// writePlan writes a changed plan at once, since the operator acts only on a persisted plan. It reports
// whether it changed the status.
func writePlan(o *observation.Observation, p *decision.Plan, next *v1alpha1.PreemptionStatus) bool {
	old := p.Status.Scheduling.Preemption
	if old != nil && samePlan(old, next) {
		return false
	}
	t, plan := o.Time(), next.DeepCopy()
	plan.ObservedTime = &t
	p.Status.Scheduling.Preemption = plan
	p.Note("preemption: %s, round %d, %s", plan.Phase, plan.Round,
		observation.Plural(plan.VictimCount, "victim"))
	setConditions(o, p, "")
	return true
}

// samePlan reports whether two plans are equal except for their times. The time of a phase that is not
// written yet advances with each reconcile.
func samePlan(a, b *v1alpha1.PreemptionStatus) bool {
	return a.Phase == b.Phase && a.Round == b.Round && a.Domain == b.Domain && sameVictims(a, b)
}

func sameVictims(a, b *v1alpha1.PreemptionStatus) bool {
	return a.Outcome == b.Outcome && a.VictimCount == b.VictimCount && a.LossGPUSeconds == b.LossGPUSeconds &&
		apiequality.Semantic.DeepEqual(a.Victims, b.Victims)
}

// handedOver returns the preemption status of a gang that falls back to its scheduler; nil for others.
func handedOver(o *observation.Observation) *v1alpha1.PreemptionStatus {
	if d := o.Job.Status.Drain; d == nil || d.Cause != v1alpha1.CauseHandOver {
		return nil
	}
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionNotPlanned, Phase: v1alpha1.PreemptionHandedOver, PhaseTime: new(o.Time()),
	}
}

// DropPreemption removes a plan once the gang lacks no capacity, or the operator no longer plans. It does so
// only together with another change of the status.
func DropPreemption(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	if st.Scheduling == nil || st.Scheduling.Preemption == nil ||
		o.Preemption != nil && showsPlan(st, o.Preemption) || st.Scheduling.Preemption.Phase != "" {
		return // the next change of phase removes a plan in progress or a hand-over
	}
	before := o.Job.Status.DeepCopy()
	before.ObservedGeneration = st.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(*st, *before) {
		st.Scheduling.Preemption = nil
	}
}
