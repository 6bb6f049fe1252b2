package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// keepPlace decides whether the group stays during a backoff, and with it the gang's place in the queue and
// what its scheduler has reserved for it: otherwise another gang takes its GPUs for the sake of a few
// seconds. A place that the gang could not use for long is given up. It returns the end of a sentence.
func keepPlace(o *observation.Observation, p *Plan, delay time.Duration) string {
	s, attempt := p.Status.Scheduling, o.Job.Status.Attempt
	if s == nil || o.Backend != nil &&
		o.Gang.GroupName(o.Backend, attempt) != o.Gang.GroupName(o.Backend, attempt+1) {
		return "" // every attempt has a group of its own: the last one's pods were its place
	}
	cause := drainCause(o.Job)
	timeout := cause == v1alpha1.CauseScheduleTimeout || cause == v1alpha1.CauseStartTimeout
	s.KeepsPlace = !timeout && delay <= o.Lifecycle.KeepPlace && !o.SpecInvalid()
	if s.KeepsPlace {
		return ", and keeps the gang's place"
	}
	return ", and the gang's place is given up"
}

// keepsPlace reports whether a gang in backoff keeps its group. It does not while its spec is invalid, for
// then nobody knows when its next attempt will be.
func keepsPlace(o *observation.Observation) bool {
	s := o.Job.Status.Scheduling
	return s != nil && s.KeepsPlace && !o.SpecInvalid()
}

// holdInvalid leaves a gang that has its nodes as it is while its spec is invalid. One that waits for them
// gives its place to others, since nobody knows how long that lasts.
func holdInvalid(o *observation.Observation, p *Plan) {
	if o.Placed() == 0 {
		p.Group = Remove
		p.deletePods(o.Live, "the spec is invalid, and the gang holds nothing until it is corrected")
	}
}
