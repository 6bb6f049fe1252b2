package decision

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// settle settles the cause of a drained attempt and where the next one resumes. The write that raises the
// attempt also counts the cause, so that a failure is spent once however often it is observed.
func settle(o *observation.Observation, p *Plan) Outcome {
	pinned := pin(o, p)
	countDisruption(o, p)
	p.Status.Attempt++
	switch drainCause(o.Job) {
	case v1alpha1.CauseDisruption, v1alpha1.CauseEviction, v1alpha1.CauseBrokered:
		p.Status.Preemptions++
	}
	return Outcome{Reason: drainReason(o.Job), NewAttempt: true, Settled: true, ResumePoint: pinned}
}

func settleSuspend(o *observation.Observation, p *Plan) Outcome {
	settled := settle(o, p)
	outcome := suspend(o, p)
	settled.Reason, settled.Message = outcome.Reason, outcome.Message
	return settled
}

// settleFailed settles the resume point too: a user can create a job that continues from it.
func settleFailed(o *observation.Observation, p *Plan) Outcome {
	pinned := pin(o, p)
	d := o.Job.Status.Drain
	reason, message := d.Reason, d.Message
	if !d.Permanent {
		reason = v1alpha1.ReasonBackoffLimit
		message = fmt.Sprintf("%s; backoffLimit %d is spent", d.Message, spec.BackoffLimit(o.Job))
	}
	outcome := fail(o, p, "Finish", reason, message)
	outcome.Settled, outcome.ResumePoint = true, pinned
	return outcome
}

func settleBackoff(o *observation.Observation, p *Plan) Outcome {
	delay := backoff(o)
	outcome := settle(o, p)
	st := &p.Status
	at := metav1.NewTime(o.Time().Add(delay))
	st.NextAttemptTime = &at
	outcome.Message = fmt.Sprintf("attempt %d follows after a backoff of %s%s%s", st.Attempt, delay,
		keepPlace(o, p, delay), andResumes(o.Job, p))
	if drainCause(o.Job) == v1alpha1.CauseFailure {
		outcome.Message += fmt.Sprintf("; restart %d of %d", o.Job.Status.Restarts+1, spec.BackoffLimit(o.Job))
	}
	if drainCause(o.Job) == v1alpha1.CauseHang {
		outcome.Message += fmt.Sprintf("; hang restart %d of %d", hangRestarts(o), spec.HangRestarts(o.Job))
	}
	if d := st.Disruptions; d != nil && drainCause(o.Job) == v1alpha1.CauseDisruption {
		outcome.Message += fmt.Sprintf("; it was disrupted %d times in a row without progress", d.InARow)
	}
	p.Normal(v1alpha1.ConditionRestarting, "Restart", outcome.Message)
	return outcome
}

func settleQueue(o *observation.Observation, p *Plan) Outcome {
	outcome := settle(o, p)
	switch { // the phase is Queued in each case; the blocker reports what is missing
	case o.SpecInvalid():
		outcome.Message = fmt.Sprintf("attempt %d waits until the spec is valid%s", p.Status.Attempt,
			andResumes(o.Job, p))
		return outcome
	case requestRefused(p):
		p.Status.Revision = o.Revision // every edit begins another attempt
		outcome.Message = fmt.Sprintf("attempt %d waits: it cannot resume from spec.checkpoint.resumeFrom (%s)",
			p.Status.Attempt, o.Job.Spec.Checkpoint.ResumeFrom)
		return outcome
	case o.Backend == nil:
		p.Status.Revision = o.Revision
		outcome.Message = fmt.Sprintf("attempt %d waits for its scheduler%s", p.Status.Attempt,
			andResumes(o.Job, p))
		return outcome
	}
	startAttempt(o, p)
	outcome.Submitted = true
	outcome.Message = fmt.Sprintf("requeued at %s as attempt %d%s",
		o.SchedulerAndQueue(), p.Status.Attempt, andResumes(o.Job, p))
	p.Normal("Requeued", "Queue", outcome.Message)
	return outcome
}
