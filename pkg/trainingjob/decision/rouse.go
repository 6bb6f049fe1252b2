package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Rouse plans to wake a scheduler that has rejected the gang and does not look although the nodes have room.
// Everything else that keeps the gang waiting comes first.
func Rouse(o *observation.Observation, p *Plan) {
	if !rests(o, p) {
		return
	}
	if due := o.Woken.Due(); o.Now.Before(due) {
		p.WakeAt(due)
		return
	}
	woken := o.Woken.Again(o.Now)
	p.Rouse = &woken
	p.Note("wake the scheduler: the nodes have room, and it does not look")
	p.WakeAt(o.Now.Add(observation.StatusDelay))
}

// rests reports whether the scheduler rests beside room for the gang.
func rests(o *observation.Observation, p *Plan) bool {
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || o.Backend == nil || o.Why == nil || len(o.Live) == 0 ||
		len(p.Create) > 0 || len(p.Delete) > 0 || !o.Settled() || o.EnoughPlaced() {
		return false
	}
	e, known := o.Why()
	return known && e.Reason == v1alpha1.ReasonSchedulerRests
}

// Roused reports whether the scheduler was woken only now and has not had the time to act, which it mostly
// does: until then there is nothing to say.
func Roused(o *observation.Observation, p *Plan) bool {
	if !rests(o, p) {
		return false
	}
	told := o.Woken.Last.Add(observation.StatusDelay)
	if p.Rouse == nil && !o.Now.Before(told) {
		return false
	}
	if p.Rouse == nil {
		p.WakeAt(told)
	}
	return true
}
