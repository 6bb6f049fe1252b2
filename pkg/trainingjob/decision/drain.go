package decision

import (
	"cmp"
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// drain records why the operator stops all ranks. If the stop can wait, it requests a checkpoint first.
func drain(
	o *observation.Observation, p *Plan, cause v1alpha1.DrainCause, reason, format string, args ...any,
) Outcome {
	if p.Status.Drain == nil { // otherwise only the cause changes
		p.Status.Drain = &v1alpha1.DrainStatus{}
	}
	d := p.Status.Drain
	d.Cause, d.Reason, d.Message, d.Permanent = cause, reason, fmt.Sprintf(format, args...), false
	switch cause {
	case v1alpha1.CauseEviction, v1alpha1.CauseSuspend, v1alpha1.CauseSpecChange, v1alpha1.CauseRestartRequested,
		v1alpha1.CauseHang:
		requestSave(o, d)
	}
	return Outcome{Reason: reason, Message: d.Message}
}

func drainLoss(o *observation.Observation, p *Plan) Outcome {
	placed, total := o.Placed(), o.Total()
	why := fmt.Sprintf("the gang cannot run with %d of %d ranks (minAvailable %d)", placed, total, o.Min)
	if o.EnoughPlaced() {
		why = fmt.Sprintf("%d of %d ranks are left, but under restartScope Gang any loss ends the attempt",
			placed, total)
	}
	outcome := drain(o, p, v1alpha1.CauseDisruption, o.Lost[0].Reason,
		"%s; %s, so all are ended", lossMessage(o.Lost), why)
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

// upgradeDrain changes the cause from a failure to the disruption that made the ranks fail.
func upgradeDrain(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseDisruption, o.Lost[0].Reason,
		"%s; that is why other ranks failed: no restart is spent", lossMessage(o.Lost))
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func lossMessage(lost []observation.Loss) string {
	msg := lost[0].Message
	if n := len(lost); n > 1 {
		msg += fmt.Sprintf(" (and %s more)", observation.Plural(int32(n-1), "rank"))
	}
	return msg
}

func drainRestartsSpent(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseFailure, v1alpha1.ReasonBackoffLimit,
		"containers were restarted %d times, backoffLimit is %d", o.Restarts(), spec.BackoffLimit(o.Job))
	outcome.RestartsSpent = true
	p.Status.Drain.Permanent = true
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func drainEviction(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseEviction, cmp.Or(o.Verdict.Reason, v1alpha1.ReasonEvicted),
		"%s evicts the gang: %s", o.SchedulerAndQueue(), o.Verdict.Message)
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func drainSuspend(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseSuspend, v1alpha1.ReasonSuspended, "suspending: all ranks are stopped")
	p.Normal(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func drainSpecChange(o *observation.Observation, p *Plan) Outcome {
	size := ""
	if before := o.Job.Status.Replicas; before != o.Total() {
		size = fmt.Sprintf(" (%d → %d ranks)", before, o.Total())
	}
	outcome := drain(o, p, v1alpha1.CauseSpecChange, v1alpha1.ReasonSpecChanged,
		"the spec has changed%s: all ranks are stopped and the gang restarts", size)
	p.Normal(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func drainRestart(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseRestartRequested, v1alpha1.ReasonRestartRequested,
		"an annotation requests a restart: all ranks are stopped")
	p.Status.RestartRequest = o.Job.Annotations[v1alpha1.AnnotationRestart]
	p.Normal(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

func drainTimeout(o *observation.Observation, p *Plan) Outcome {
	outcome := drain(o, p, v1alpha1.CauseScheduleTimeout, v1alpha1.ReasonScheduleTimeout,
		"not placed within scheduleTimeoutSeconds (%d): the gang leaves the queue",
		*o.Job.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds)
	p.Warning(outcome.Reason, "Drain", outcome.Message)
	return outcome
}
