package status

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Refresh updates a status that makes no transition. Counts are written once they have stood for StatusDelay,
// since a transition mostly carries them; what is not due yet asks for a wake-up instead.
func Refresh(o *observation.Observation, p *decision.Plan) {
	st := &p.Status
	Count(o, p, false)
	st.RankRestarts, st.Restarts = o.RankRestarts(), o.Restarts()
	// What ranks said of their checkpoints is written at once, and takes the rest along.
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
	if !news && !o.Settled() {
		unchanged := *o.Job.Status.DeepCopy()
		unchanged.ObservedGeneration = st.ObservedGeneration
		if !apiequality.Semantic.DeepEqual(*st, unchanged) {
			*st = unchanged
			p.WakeAt(o.SettlesAt())
		}
	}
	refreshBlocker(o, p)
}
