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

// Job is a training job with data that its status lacks. All of it is read-only.
type Job struct {
	*v1alpha1.TrainingJob
	// Backend of the attempt's scheduler; nil if the operator has no backend of that name.
	Backend scheduler.Backend
	// Value of its priority class, or the value that its scheduler's quotas use.
	Value int32
	// Pods of its ranks that exist.
	Pods []*corev1.Pod
	// Requests of one rank, by role (see RequestsOf).
	Requests map[string]scheduler.Amounts
	// Class holds the settings of its priority class. The zero Class means that the policy applies.
	Class Class
	// Proposed is the status from the previous pass. A plan must not change before it is written: the job's
	// reconcile may be about to write it.
	Proposed *v1alpha1.PreemptionStatus
	// Blocked is since when it is known to lack capacity; zero: since it entered its phase.
	Blocked time.Time
	// Contest is the gang's state in its scheduler's quota system; nil if there is none or it is unknown.
	Contest *scheduler.Contest
	// End is when a running gang probably ends at the latest, in four of five cases; zero: unknown.
	End time.Time
	// Reported is when rank 0 last reported from the current attempt; zero: never.
	Reported time.Time
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

// scheduler of the attempt.
func (j *Job) scheduler() v1alpha1.SchedulerName {
	if j.Status.Scheduling == nil {
		return ""
	}
	return j.Status.Scheduling.Scheduler
}

// contender is the job as its scheduler's backend sees it.
func (j *Job) contender() scheduler.Contender {
	return scheduler.Contender{Queue: spec.Queue(j.TrainingJob), Pods: j.Pods}
}

// blocked is since when it is known to lack capacity.
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
