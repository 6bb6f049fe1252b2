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
	if next == nil || !observation.LacksRoom(&p.Status) {
		return false
	}
	old := p.Status.Scheduling.Preemption
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

func saysTheSame(a, b *v1alpha1.PreemptionStatus) bool {
	return a.Outcome == b.Outcome && a.VictimCount == b.VictimCount && a.LossGPUSeconds == b.LossGPUSeconds &&
		apiequality.Semantic.DeepEqual(a.Victims, b.Victims)
}

// dropPreemption removes what was told of a preemption once the gang lacks no room any more, or nobody plans.
// That alone is no reason for a write.
func dropPreemption(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	if st.Scheduling == nil || st.Scheduling.Preemption == nil ||
		o.Preemption != nil && observation.LacksRoom(st) {
		return
	}
	before := o.Job.Status.DeepCopy()
	before.ObservedGeneration = st.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(*st, *before) {
		st.Scheduling.Preemption = nil
	}
}
