package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Refresh updates a status that makes no transition. A reason why the job waits, and what ranks said of their
// checkpoints, are written when they are due and take the counts along; counts alone wait longer, since a
// transition mostly carries them. What is not due yet asks for a wake-up instead.
func Refresh(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	told := followQueue(o, p)
	told = followRun(o, p) || told
	blocker := refreshBlocker(o, p)
	told = refreshPreemption(o, p, blocker) || blocker || told
	Count(o, p, false)
	st.RankRestarts, st.Restarts = o.RankRestarts(), o.Restarts()
	news := RecordCheckpoints(o, p)
	news = RecordDrain(o, p) || news
	news = saveAhead(o, p) || news
	news = RecordProgress(o, p, news) || news
	if st.Phase == v1alpha1.PhaseRunning {
		st.Message = o.Running(st)
	}
	setInvalidSpec(o, p)
	setReady(o, p)
	if !o.SpecChanged() && !o.Job.Status.Phase.Finished() && st.Attempt > 0 {
		st.Revision = o.Revision // else an attempt that a former operator began would end with the next edit
	}
	if due := countsDue(o); !news && !told && o.Now.Before(due) {
		unchanged := *o.Job.Status.DeepCopy()
		unchanged.ObservedGeneration = st.ObservedGeneration
		if !apiequality.Semantic.DeepEqual(*st, unchanged) {
			*st = unchanged
			p.WakeAt(due)
		}
	}
	dropPreemption(o, p)
}

// followQueue shows the queue of a gang that moved to another one while it waits: no new attempt begins with
// that. It reports whether it did.
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

// followRun records the run in MLflow of a gang that was queued before its run was known. It reports whether
// it did.
func followRun(o *observation.Observation, p *decision.Plan) bool {
	run := decision.LateRun(o)
	if run == "" || o.SpecInvalid() {
		return false
	}
	p.Status.MLflow.RunID = run
	return true
}

// countsDue is when counts are written that nothing else carries: once they have stood for StatusDelay, and
// of a queued job, of which no rank runs, not before a burst would be over.
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
