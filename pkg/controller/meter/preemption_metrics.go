package meter

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
)

// Outcomes of a plan, as a label.
const (
	planPlaced     = "Placed"
	planHandedOver = "HandedOver"
	planRevoked    = "Revoked"
	planIgnored    = "GateIgnored"
)

// beginPreemptionSeries makes the series whose labels are known: a rate needs a zero before the first one.
func (m *Metrics) beginPreemptionSeries() {
	for _, outcome := range []string{planPlaced, planHandedOver, planRevoked, planIgnored} {
		m.counters[metricPreemptionPlans].WithLabelValues(outcome)
	}
	for _, mode := range []v1alpha1.PreemptionMode{
		v1alpha1.PreemptionSave, v1alpha1.PreemptionNextCheckpoint, v1alpha1.PreemptionEndsByItself,
		v1alpha1.PreemptionKill,
	} {
		m.counters[metricPreemptionVictims].WithLabelValues(string(mode))
	}
	for _, name := range []string{
		metricPreemptionEstimated, metricPreemptionLost, metricPreemptionStolen, metricSavesAhead,
		metricOverruledPlans, metricUnusableClasses,
	} {
		m.counters[name].WithLabelValues()
	}
}

// countPreemption counts what has become of the operator's plans.
func (c statusChange) countPreemption() {
	from, to := preemptionOf(&c.job.Status), preemptionOf(c.to)
	had := from != nil && contention.Outstanding(from.Phase)
	switch left := c.job.Status.Phase == v1alpha1.PhaseQueued && c.to.Phase != v1alpha1.PhaseQueued; {
	case left && c.to.Drain != nil && c.to.Drain.Cause == v1alpha1.CauseHandOver:
		c.counters[metricPreemptionPlans].WithLabelValues(planHandedOver).Inc()
	case left && had && (c.to.Phase == v1alpha1.PhaseStarting || c.to.Phase == v1alpha1.PhaseRunning):
		c.counters[metricPreemptionPlans].WithLabelValues(planPlaced).Inc()
		if at := from.BlockedTime; at != nil {
			c.histograms[metricPreemptionDelay].WithLabelValues().Observe(max(0, c.now.Sub(at.Time).Seconds()))
		}
	case left && had:
		c.counters[metricPreemptionPlans].WithLabelValues(planRevoked).Inc()
	case c.job.Status.Phase == c.to.Phase && handedOver(to) && !handedOver(from): // its gate is open
		outcome := planHandedOver
		if to.Outcome == v1alpha1.PreemptionGateIgnored {
			outcome = planIgnored
		}
		c.counters[metricPreemptionPlans].WithLabelValues(outcome).Inc()
	case had && to != nil && to.Round > from.Round:
		c.counters[metricPreemptionStolen].WithLabelValues().Add(float64(to.Round - from.Round))
	}
	if d := c.to.Drain; d != nil && d.MakesRoom != nil && c.job.Status.Drain == nil {
		c.counters[metricPreemptionVictims].WithLabelValues(string(d.MakesRoom.Mode)).Inc()
		c.counters[metricPreemptionEstimated].WithLabelValues().Add(float64(max(0, d.MakesRoom.LossGPUSeconds)))
	}
	if id := askedAhead(c.to); id != "" && id != askedAhead(&c.job.Status) {
		c.counters[metricSavesAhead].WithLabelValues().Inc()
	}
	if lost := preemptedLoss(c.to) - preemptedLoss(&c.job.Status); lost > 0 {
		c.counters[metricPreemptionLost].WithLabelValues().Add(float64(lost))
	}
}

func handedOver(p *v1alpha1.PreemptionStatus) bool {
	return p != nil && p.Phase == v1alpha1.PreemptionHandedOver
}

func preemptionOf(st *v1alpha1.TrainingJobStatus) *v1alpha1.PreemptionStatus {
	if st.Scheduling == nil {
		return nil
	}
	return st.Scheduling.Preemption
}

// askedAhead is the ID of the last request to save ahead; "" where there was none.
func askedAhead(st *v1alpha1.TrainingJobStatus) string {
	if st.Checkpoint == nil || st.Checkpoint.Ahead == nil {
		return ""
	}
	return st.Checkpoint.Ahead.CommandID
}

func preemptedLoss(st *v1alpha1.TrainingJobStatus) int64 {
	if st.Work == nil {
		return 0
	}
	return st.Work.PreemptedLostGPUSeconds
}

// CountEvents counts what the status does not show.
func (m *Metrics) CountEvents(events []decision.Event) {
	for _, e := range events {
		if e.Reason == v1alpha1.ReasonWaitingClassUnusable {
			m.counters[metricUnusableClasses].WithLabelValues().Inc()
		}
	}
}
