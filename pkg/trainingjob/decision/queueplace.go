package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// keepPlace decides whether the group stays during a backoff. The gang then keeps its place in the queue and
// its reserved GPUs, which another gang would otherwise take within seconds. The group is removed for a long
// backoff. keepPlace returns the end of the transition's message.
func keepPlace(o *observation.Observation, p *Plan, delay time.Duration) string {
	s, attempt := p.Status.Scheduling, o.Job.Status.Attempt
	if s == nil || o.Backend != nil &&
		o.Gang.GroupName(o.Backend, attempt) != o.Gang.GroupName(o.Backend, attempt+1) {
		return "" // each attempt has its own group, so there is no place to keep
	}
	cause := drainCause(o.Job)
	timeout := cause == v1alpha1.CauseScheduleTimeout || cause == v1alpha1.CauseStartTimeout
	s.KeepsPlace = !timeout && delay <= o.Lifecycle.KeepPlace && !o.SpecInvalid()
	if s.KeepsPlace {
		return ", and keeps the gang's place"
	}
	return ", and the gang leaves the queue"
}

// keepsPlace reports whether a gang in backoff keeps its group. It does not while its spec is invalid,
// because the time of the next attempt is unknown.
func keepsPlace(o *observation.Observation) bool {
	s := o.Job.Status.Scheduling
	return s != nil && s.KeepsPlace && !o.SpecInvalid()
}

// holdInvalid handles a gang whose spec is invalid. A gang with nodes stays as it is; one that waits for
// nodes releases its place, because the correction can take any time.
func holdInvalid(o *observation.Observation, p *Plan) {
	if o.Placed() == 0 {
		p.Group = Remove
		p.deletePods(o.Live, "the spec is invalid, and the gang holds nothing until it is corrected")
	}
}
