package contention

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Job is a training job and what its status does not say. All of it is read-only.
type Job struct {
	*v1alpha1.TrainingJob
	// Backend of the scheduler that its attempt was given to; nil where this operator has none of that name.
	Backend scheduler.Backend
	// Value of its priority class, or by which its scheduler's quotas have it.
	Value int32
	// Pods that exist of its ranks.
	Pods []*corev1.Pod
	// Requests of one rank, by role (see RequestsOf).
	Requests map[string]scheduler.Amounts
	// Class is what its priority class says. The zero Class says nothing, and the policy holds.
	Class Class
	// Proposed is what the pass before has said of it. A plan that is not written down yet must not become
	// another one: the job's reconcile may be about to write it.
	Proposed *v1alpha1.PreemptionStatus
	// Blocked is since when it has been known to lack room; zero: since it entered its phase.
	Blocked time.Time
	// Contest is the gang's part in the contest for its scheduler's quotas; nil where its scheduler decides
	// otherwise, or that is not known.
	Contest *scheduler.Contest
	// Heard is when rank 0 last reported from the current attempt; zero: never.
	Heard time.Time
}

// RequestsOf returns what one rank of each role of a job requests.
func RequestsOf(job *v1alpha1.TrainingJob) map[string]scheduler.Amounts {
	requests := map[string]scheduler.Amounts{}
	for _, role := range render.Gang(job, job.Status.Attempt, true).Roles {
		requests[role.Name] = role.Requests()
	}
	return requests
}

func (j *Job) ref() preemption.Ref { return preemption.Ref{UID: j.UID, Attempt: j.Status.Attempt} }

// scheduler that the attempt was given to.
func (j *Job) scheduler() v1alpha1.SchedulerName {
	if j.Status.Scheduling == nil {
		return ""
	}
	return j.Status.Scheduling.Scheduler
}

// contender is the job as its scheduler's backend judges it.
func (j *Job) contender() scheduler.Contender {
	return scheduler.Contender{Queue: spec.Queue(j.TrainingJob), Pods: j.Pods}
}

// blocked is since when it has been known to lack room.
func (j *Job) blocked() time.Time {
	if j.gated() && j.Contest != nil {
		return j.Contest.GateSince.Time
	}
	if j.Blocked.IsZero() {
		return j.since()
	}
	return j.Blocked
}

// since is when the job entered its phase.
func (j *Job) since() time.Time {
	if n := len(j.Status.Transitions); n > 0 {
		return j.Status.Transitions[n-1].Time.Time
	}
	return j.CreationTimestamp.Time
}
