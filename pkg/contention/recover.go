package contention

import (
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// guard runs a step that concerns one job, and reports whether the step returned. A panic goes to the
// cluster's Recovered, and the pass continues with the other jobs.
func (r *round) guard(j *Job, step func()) bool {
	if r.recovered == nil {
		step()
		return true
	}
	caught := panics.Catch(step)
	if caught != nil {
		r.recovered(j.TrainingJob, caught)
	}
	return caught == nil
}

// serve runs a step for a waiting gang. If the step panics, the scheduler preempts for the gang as it does
// without the operator. Otherwise the gang would wait until its data changes.
func (b *broker) serve(gates *contests, j *Job, step func()) {
	switch {
	case b.guard(j, step):
	case j.gated():
		b.orders.set(j, gates.handBack(j, notPlanned))
	default:
		b.orders.set(j, b.handOver(j, notPlanned))
	}
}

// reservePlan reserves the capacity that a plan frees.
func (b *broker) reservePlan(plan *preemption.Plan) {
	for _, j := range b.waiting {
		if j.ref() == plan.For {
			b.guard(j, func() { b.reserve(j, plan) })
		}
	}
}
