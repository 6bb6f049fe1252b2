package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// WakeScheduler plans to wake a scheduler that rejected the gang and does not retry although the nodes have
// capacity. All other reasons for the wait take precedence.
func WakeScheduler(o *observation.Observation, p *Plan) {
	if !rests(o, p) {
		return
	}
	if due := o.Woken.Due(); o.Now.Before(due) {
		p.WakeAt(due)
		return
	}
	woken := o.Woken.Again(o.Now)
	p.WakeScheduler = &woken
	p.Note("wake the scheduler: the nodes have capacity, and it does not retry")
	p.WakeAt(o.Now.Add(observation.StatusDelay))
}

// rests reports whether the scheduler does not retry although the nodes have capacity for the gang.
func rests(o *observation.Observation, p *Plan) bool {
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Backend == nil || o.Why == nil || len(o.Live) == 0 ||
		len(p.Create) > 0 || len(p.Delete) > 0 || !o.Settled() || o.EnoughPlaced() {
		return false
	}
	e, known := o.Why()
	return known && e.Reason == v1alpha1.ReasonSchedulerRests
}

// JustWoken reports whether the scheduler was woken less than StatusDelay ago. It usually acts within that
// time, so until then the status reports no reason.
func JustWoken(o *observation.Observation, p *Plan) bool {
	if !rests(o, p) {
		return false
	}
	reportAt := o.Woken.Last.Add(observation.StatusDelay)
	if p.WakeScheduler == nil && !o.Now.Before(reportAt) {
		return false
	}
	if p.WakeScheduler == nil {
		p.WakeAt(reportAt)
	}
	return true
}
