package decision

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// These functions write the changes of the table's rows except for the phase. Each returns the transition's
// reason and message, and adds its event.

func failInvalid(o *observation.Observation, p *Plan) Outcome {
	return fail(o, p, "Validate", v1alpha1.ReasonInvalidSpec, o.Rejected.ToAggregate().Error())
}

func failDeadline(o *observation.Observation, p *Plan) Outcome {
	return fail(o, p, "Finish", v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf(
		"the gang has run for activeDeadlineSeconds (%d), over all attempts",
		*o.Job.Spec.RunPolicy.ActiveDeadlineSeconds))
}

func fail(o *observation.Observation, p *Plan, action, reason, message string) Outcome {
	finish(o, p)
	p.Warning(reason, action, message)
	return Outcome{Reason: reason, Message: message}
}

func finish(o *observation.Observation, p *Plan) {
	t := o.Time()
	p.Status.CompletionTime = &t
}

func succeed(o *observation.Observation, p *Plan) Outcome {
	return complete(o, p, fmt.Sprintf("%d/%d ranks succeeded", o.Count(observation.RankSucceeded), o.Total()))
}

// succeedDrained completes a job whose training was complete when the gang was stopped.
func succeedDrained(o *observation.Observation, p *Plan) Outcome {
	return complete(o, p, "every step was trained when the gang was stopped ("+drainReason(o.Job)+")")
}

func complete(o *observation.Observation, p *Plan, message string) Outcome {
	finish(o, p)
	p.Normal(v1alpha1.ReasonCompleted, "Finish", message)
	return Outcome{Reason: v1alpha1.ReasonCompleted, Message: message}
}

func wait(o *observation.Observation, p *Plan) Outcome {
	b := v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing}
	if o.SchedulerProblem != nil {
		b = *o.SchedulerProblem
	}
	p.Warning(b.Reason, "Queue", b.Message+"; "+b.NextStep)
	return Outcome{Reason: b.Reason, Message: b.Message, Blocker: &b}
}

// queue submits the gang to its scheduler. Pods are created only for the attempt that is written here. It
// adds no event, because hundreds of jobs can arrive at once; the next event reports why the job waits, or
// that it runs.
func queue(o *observation.Observation, p *Plan) Outcome {
	p.Status.Attempt = max(1, p.Status.Attempt)
	startAttempt(o, p)
	return Outcome{
		Reason: v1alpha1.ReasonQueued, Message: "queued at " + o.SchedulerAndQueue(), NewAttempt: true,
		Submitted: true,
	}
}

func queueAgain(o *observation.Observation, p *Plan) Outcome {
	startAttempt(o, p)
	message := fmt.Sprintf("queued again at %s as attempt %d%s", o.SchedulerAndQueue(), p.Status.Attempt,
		andResumes(o.Job, p))
	p.Normal(v1alpha1.ReasonQueued, "Queue", message)
	return Outcome{Reason: v1alpha1.ReasonBackoffOver, Message: message, NewAttempt: true, Submitted: true}
}

func resume(o *observation.Observation, p *Plan) Outcome {
	p.Status.Attempt = max(1, p.Status.Attempt)
	startAttempt(o, p)
	message := fmt.Sprintf("resumed: queued at %s as attempt %d%s", o.SchedulerAndQueue(), p.Status.Attempt,
		andResumes(o.Job, p))
	p.Normal(v1alpha1.ReasonResumed, "Queue", message)
	return Outcome{Reason: v1alpha1.ReasonResumed, Message: message, NewAttempt: true, Submitted: true}
}

// startAttempt records the inputs of the attempt, and clears what belonged only to the last one.
func startAttempt(o *observation.Observation, p *Plan) {
	st := &p.Status
	st.Replicas, st.MinAvailable = o.Total(), o.Min
	st.Selector = v1alpha1.LabelJobName + "=" + o.Job.Name
	countGPUs(o, p)
	st.Revision = o.Revision
	st.RestartRequest = o.Job.Annotations[v1alpha1.AnnotationRestart]
	st.MLflow = mlflowOf(o)
	readmitNodes(o, p)
	dropForeignResumePoint(o, p)
	st.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: v1alpha1.SchedulerName(o.Backend.Name()), Group: o.Gang.GroupName(o.Backend, st.Attempt),
		WaitingClass: waitingClass(o, p), PreemptionGate: preemptionGate(o, p),
	}
	if len(o.GPUTolerations) > 0 {
		if roles := render.RolesWithGPUs(o.Job, o.GPUs); len(roles) > 0 {
			st.Scheduling.Tolerations, st.Scheduling.ToleratingRoles = o.GPUTolerations, roles
		}
	}
}

func suspend(o *observation.Observation, p *Plan) Outcome {
	p.Status.Scheduling = nil
	forgetProblem(p)
	p.Status.MPI = nil // a job whose Secret is lost gets a new key
	const message = "suspended: no rank runs, no quota is held"
	p.Normal(v1alpha1.ReasonSuspended, "Suspend", message)
	return Outcome{Reason: v1alpha1.ReasonSuspended, Message: message}
}

func start(o *observation.Observation, _ *Plan) Outcome {
	return Outcome{
		Reason:  v1alpha1.ReasonPlaced,
		Message: fmt.Sprintf("%d/%d ranks are placed, %d run", o.Placed(), o.Total(), o.Up()),
	}
}

func run(o *observation.Observation, p *Plan) Outcome {
	if p.Status.StartTime == nil {
		t := o.Time()
		p.Status.StartTime = &t
	}
	message := o.Running(&p.Status)
	p.Normal(v1alpha1.ReasonGangRunning, "Start", fmt.Sprintf("%s (attempt %d)", message, o.Job.Status.Attempt))
	return Outcome{Reason: v1alpha1.ReasonGangRunning, Message: message}
}
