package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// startTimeout is set by the admin, because a gang that holds nodes without running costs other users.
var startTimeout = Guard{"it has been starting for longer than the operator's start timeout",
	func(o *observation.Observation) bool {
		at, ok := startDeadline(o)
		return ok && !o.Now.Before(at)
	}}

// startDeadline returns when the operator's start timeout ends the start of a gang; false if it does not.
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
		"%d of %d ranks run after the operator's start timeout of %s%s: the gang releases its nodes",
		o.Up(), o.Total(), o.Lifecycle.StartTimeout, why)
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}
