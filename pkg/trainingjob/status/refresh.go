package status

import (
	"cmp"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Conclude describes a transition.
func Conclude(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	st := &p.Status
	if outcome.Blocker != nil && st.Scheduling == nil {
		st.Scheduling = &v1alpha1.SchedulingStatus{Queue: spec.Queue(o.Job)}
	}
	if s := st.Scheduling; s != nil {
		s.Blocker, s.Preemption, s.Reservation = outcome.Blocker.DeepCopy(), nil, nil
		concludeForecast(o, p)
		if s.Blocker != nil {
			s.Blocker.ObservedTime = new(o.Time())
		}
		if outcome.Submitted {
			s.Queue, s.Preemption = spec.Queue(o.Job), handedOver(o)
			// Every attempt begins with this. It is assumed and not observed, so no event reports it.
			s.Blocker = &v1alpha1.Blocker{
				Reason: v1alpha1.ReasonNotJudged, Message: "the gang has been submitted to the scheduler",
			}
		}
	}
	st.Message = cmp.Or(outcome.Message, st.Message)
	setConditions(o, p, outcome.Reason)
	if outcome.Submitted {
		forgetTopology(p)
	}
}

// RefreshWait updates the reason why a job without a transition waits. It reports whether it changed the
// status.
func RefreshWait(o *observation.Observation, p *decision.Plan) bool {
	moved := followQueue(o, p)
	blocked := refreshBlocker(o, p)
	reserved := refreshBackfill(o, p)
	return refreshPreemption(o, p, blocked) || blocked || moved || reserved
}

// Refresh updates the message and the conditions that depend on the counts.
func Refresh(o *observation.Observation, p *decision.Plan) {
	if st := &p.Status; st.Phase == v1alpha1.PhaseRunning {
		st.Message = o.Running(st)
	}
	setInvalidSpec(o, p)
	setReady(o, p)
	setTopology(o, p)
	setStalled(o, p)
	setRehearsed(o, p)
}

// HoldBack restores the job's status until its changed counts are due, and plans a reconcile then. A
// transition mostly comes first and includes them.
func HoldBack(o *observation.Observation, p *decision.Plan) {
	due, st := countsDue(o), &p.Status
	if !o.Now.Before(due) {
		return
	}
	unchanged := *o.Job.Status.DeepCopy()
	unchanged.ObservedGeneration = st.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(*st, unchanged) {
		*st = unchanged
		p.WakeAt(due)
	}
}

// followQueue writes the new queue of a gang that moves to another one while it waits, which needs no new
// attempt. It reports whether it changed the status.
func followQueue(o *observation.Observation, p *decision.Plan) bool {
	st, queue := &p.Status, spec.Queue(o.Job)
	if st.Phase != v1alpha1.PhaseQueued || o.SpecInvalid() {
		return false
	}
	if st.Scheduling == nil || st.Scheduling.Queue == queue {
		return false
	}
	st.Scheduling.Queue = queue
	return true
}

// countsDue returns when changed counts are written alone: after StatusDelay without a change, and for a
// queued job not before the end of a burst.
func countsDue(o *observation.Observation) time.Time {
	due, over := o.SettlesAt(), o.PhaseSince().Add(burstDelay(o))
	if o.Job.Status.Phase != v1alpha1.PhaseQueued {
		return due
	}
	if o.EnoughPlaced() {
		due = o.PlacedSlowlyAt()
	}
	if over.After(due) {
		return over
	}
	return due
}
