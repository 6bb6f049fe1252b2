package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Refresh updates a status that makes no transition. A reason why the job waits, and what ranks said of their
// checkpoints, are written when they are due and take the counts along; counts alone wait longer, since a
// transition mostly carries them. What is not due yet asks for a wake-up instead.
func Refresh(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	told := refreshBlocker(o, p)
	Count(o, p, false)
	st.RankRestarts, st.Restarts = o.RankRestarts(), o.Restarts()
	news := RecordCheckpoints(o, p)
	news = RecordDrain(o, p) || news
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
}

// countsDue is when counts are written that nothing else carries: once they have stood for StatusDelay, and
// of a queued job, of which no rank runs, not before a burst would be over.
func countsDue(o *observation.Observation) time.Time {
	due, over := o.SettlesAt(), o.PhaseSince().Add(burstDelay(o))
	if o.Job.Status.Phase == v1alpha1.PhaseQueued && over.After(due) {
		return over
	}
	return due
}
