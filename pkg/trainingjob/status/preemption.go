package status

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// refreshPreemption tells whom the planner would have make room for a gang that lacks it: at once where
// nothing was told or somebody can make room now, or no longer; else with the next write of the blocker, or
// when blockerRefresh is over. Of two victims that cost almost the same now one is cheaper and now the other,
// with each checkpoint. It reports whether it changed the status.
func refreshPreemption(o *observation.Observation, p *decision.Plan, blockerWritten bool) bool {
	next := o.Preemption
	if s := p.Status.Scheduling; next == nil && !o.Brokers && s != nil && s.PreemptionGate {
		next = &v1alpha1.PreemptionStatus{ // the admin has switched the broker off, and the gate is open
			Outcome: v1alpha1.PreemptionNotPlanned, Phase: v1alpha1.PreemptionHandedOver,
		}
	}
	if next == nil || !mayBeTold(&p.Status, next) {
		return false
	}
	old := p.Status.Scheduling.Preemption
	if next.Phase != "" || old != nil && old.Phase != "" {
		return writePlan(o, p, next)
	}
	if old != nil && old.ObservedTime != nil {
		if saysTheSame(old, next) {
			return false
		}
		planned := v1alpha1.PreemptionPlanned
		atOnce := blockerWritten || (old.Outcome == planned) != (next.Outcome == planned)
		if due := old.ObservedTime.Add(blockerRefresh(o)); !atOnce && o.Now.Before(due) {
			p.WakeAt(due)
			return false
		}
	}
	t, told := o.Time(), next.DeepCopy()
	told.ObservedTime = &t
	p.Status.Scheduling.Preemption = told
	if old == nil || old.Outcome != told.Outcome {
		p.Note("preemption, dry run: %s, %s", told.Outcome, observation.Plural(told.VictimCount, "victim"))
	}
	return true
}

// mayBeTold reports whether a queued gang waits for room. One that waits under a class of its own, or behind
// a gate, is told of a plan whatever its reason: once there is room, it waits for its scheduler.
func mayBeTold(st *v1alpha1.TrainingJobStatus, next *v1alpha1.PreemptionStatus) bool {
	s := st.Scheduling
	if st.Phase != v1alpha1.PhaseQueued || s == nil {
		return false
	}
	if next.Phase == v1alpha1.PreemptionHandedOver {
		return s.PreemptionGate // else to hand over is a transition
	}
	return s.WaitingClass != "" || s.PreemptionGate || observation.LacksRoom(st)
}

// writePlan writes a plan down at once, wherever it differs: nobody acts on it before. It reports whether it
// did.
func writePlan(o *observation.Observation, p *decision.Plan, next *v1alpha1.PreemptionStatus) bool {
	old := p.Status.Scheduling.Preemption
	if old != nil && samePlan(old, next) {
		return false
	}
	t, told := o.Time(), next.DeepCopy()
	told.ObservedTime = &t
	p.Status.Scheduling.Preemption = told
	p.Note("preemption: %s, round %d, %s", told.Phase, told.Round,
		observation.Plural(told.VictimCount, "victim"))
	setConditions(o, p, "")
	return true
}

// samePlan leaves out the times of what has not changed: a phase that is not written yet begins a second
// later with every look at it.
func samePlan(a, b *v1alpha1.PreemptionStatus) bool {
	return a.Phase == b.Phase && a.Round == b.Round && saysTheSame(a, b)
}

func saysTheSame(a, b *v1alpha1.PreemptionStatus) bool {
	return a.Outcome == b.Outcome && a.VictimCount == b.VictimCount && a.LossGPUSeconds == b.LossGPUSeconds &&
		apiequality.Semantic.DeepEqual(a.Victims, b.Victims)
}

// handedOver is the preemption status of a gang for which its scheduler preempts from now on; nil for others.
func handedOver(o *observation.Observation) *v1alpha1.PreemptionStatus {
	if d := o.Job.Status.Drain; d == nil || d.Cause != v1alpha1.CauseHandOver {
		return nil
	}
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionNotPlanned, Phase: v1alpha1.PreemptionHandedOver, PhaseTime: new(o.Time()),
	}
}

// DropPreemption removes what was told of a preemption once the gang lacks no room any more, or nobody plans.
// That alone is no reason for a write.
func DropPreemption(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	if st.Scheduling == nil || st.Scheduling.Preemption == nil ||
		o.Preemption != nil && mayBeTold(st, o.Preemption) || st.Scheduling.Preemption.Phase != "" {
		return // of a plan, and of a hand-over, the next change of phase disposes
	}
	before := o.Job.Status.DeepCopy()
	before.ObservedGeneration = st.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(*st, *before) {
		st.Scheduling.Preemption = nil
	}
}
