package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// startTimeout leaves it to the admin how long a gang may hold nodes on which it does not run: that is
// others' loss, and not the user's.
var startTimeout = Guard{"it has been starting for longer than the operator's start timeout",
	func(o *observation.Observation) bool {
		at, ok := startDeadline(o)
		return ok && !o.Now.Before(at)
	}}

// startDeadline is when the operator's start timeout ends the start of a gang, if it does.
func startDeadline(o *observation.Observation) (time.Time, bool) {
	if o.Lifecycle.StartTimeout <= 0 || o.Job.Status.Phase != v1alpha1.PhaseStarting {
		return time.Time{}, false
	}
	return o.PhaseSince().Add(o.Lifecycle.StartTimeout), true
}

func drainStartTimeout(o *observation.Observation, p *Plan) Outcome {
	why := ""
	if s := o.Job.Status.Scheduling; s != nil && s.Blocker != nil {
		why = " (" + s.Blocker.Message + ")"
	}
	outcome := drain(o, p, v1alpha1.CauseStartTimeout, v1alpha1.ReasonStartTimeout,
		"%d of %d ranks run after the operator's start timeout of %s%s: the nodes are given back",
		o.Up(), o.Total(), o.Lifecycle.StartTimeout, why)
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}
