package decision

import (
	"math"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Guard is a named condition on what is observed.
type Guard struct {
	Name  string
	Holds func(*observation.Observation) bool
}

// Guards on the spec, the scheduler and what the user wants.
var (
	invalid = Guard{"the gang was never queued, and its spec is invalid or not supported by its scheduler",
		func(o *observation.Observation) bool { return len(o.Rejected) > 0 }}

	pastDeadline = Guard{"the gang has run for activeDeadlineSeconds, over all attempts",
		func(o *observation.Observation) bool {
			at, ok := activeDeadline(o)
			return ok && !o.Now.Before(at)
		}}

	noScheduler = Guard{
		"the cluster does not serve what the scheduler needs, or no agent is configured for a job with checkpoints",
		func(o *observation.Observation) bool { return o.Backend == nil }}
	hasScheduler = Guard{"a scheduler is available",
		func(o *observation.Observation) bool { return o.Backend != nil }}

	wantsSuspend = Guard{"suspend is true",
		func(o *observation.Observation) bool { return spec.Suspended(o.Job) }}
	wantsSuspendIdle = Guard{"suspend is true and there is no pod",
		func(o *observation.Observation) bool { return spec.Suspended(o.Job) && len(o.Pods) == 0 }}
	wantsResume = Guard{"suspend is no longer true, a scheduler is available and the spec is valid",
		func(o *observation.Observation) bool { return !spec.Suspended(o.Job) && canStart(o) }}
	requestOpen = Guard{"the job resumes, and spec.checkpoint.resumeFrom names a checkpoint to search for",
		func(o *observation.Observation) bool { return wantsResume.Holds(o) && spec.OpenRequest(o.Job) != "" }}

	specChanged = Guard{"the spec is valid and differs from the one of the attempt (a resize)",
		func(o *observation.Observation) bool {
			return o.SpecChanged() && !o.SpecInvalid()
		}}
	restartWanted = Guard{"the restart annotation has a new value and the spec is valid",
		func(o *observation.Observation) bool {
			return o.Job.Annotations[v1alpha1.AnnotationRestart] != o.Job.Status.RestartRequest && !o.SpecInvalid()
		}}

	backoffOver = Guard{"the backoff is over, a scheduler is available and the spec is valid",
		func(o *observation.Observation) bool {
			t := o.Job.Status.NextAttemptTime
			return (t == nil || !o.Now.Before(t.Time)) && canStart(o)
		}}
)

// Guards on a gang that is queued or runs.
var (
	succeeded = Guard{"the ranks that decide success (successPolicy) exited 0",
		func(o *observation.Observation) bool { return o.Succeeded() && decidesSuccess(o) }}

	lostRank = Guard{"a rank was lost to a disruption (scope Rank: fewer than minAvailable are left)",
		func(o *observation.Observation) bool {
			return len(o.Lost) > 0 && (o.Scope == v1alpha1.ScopeGang || !o.EnoughPlaced())
		}}
	failedRank = Guard{"a rank failed by itself (scope Rank: and its policy ends the gang)",
		func(o *observation.Observation) bool { return len(o.Failed) > 0 }}
	restartsSpent = Guard{"containers were restarted more often than backoffLimit (scope Rank)",
		func(o *observation.Observation) bool {
			return o.Scope == v1alpha1.ScopeRank && o.Restarts() > spec.BackoffLimit(o.Job)
		}}
	evicted = Guard{"the scheduler evicts the gang, and the gang has pods",
		func(o *observation.Observation) bool {
			return o.Verdict.Admission == scheduler.Yield && len(o.Live) > 0
		}}

	gangUp = Guard{"at least minAvailable ranks run",
		func(o *observation.Observation) bool { return o.EnoughUp() }}

	// Starting is worth a write only when it lasts: a gang that runs soon goes from Queued to Running.
	placedSlowly = Guard{"at least minAvailable ranks have been placed for 5 s (20 s in a burst)",
		func(o *observation.Observation) bool { return o.EnoughPlaced() && !o.Now.Before(o.PlacedSlowlyAt()) }}

	scheduleTimeout = Guard{"scheduleTimeoutSeconds have passed in the queue",
		func(o *observation.Observation) bool {
			at, ok := scheduleDeadline(o)
			return ok && !o.EnoughPlaced() && !o.Now.Before(at)
		}}
)

// Guards on a gang that drains.
var (
	disruptionSeen = Guard{"the gang drains because of a failure, and a disruption caused that failure",
		func(o *observation.Observation) bool {
			return drainCause(o.Job) == v1alpha1.CauseFailure && len(o.Lost) > 0
		}}

	failedFirst = Guard{"the gang drains because of a failure, and another rank failed earlier",
		failedBefore}

	succeededBefore = Guard{
		"every pod has ended, and the ranks that decide success exited 0 before the operator stopped them",
		func(o *observation.Observation) bool {
			if d := o.Job.Status.Drain; d == nil || d.CommandID != "" || o.Rehearsal != nil {
				return false // rank 0 exits 0 because the operator requested a save and exit
			}
			return len(o.Live) == 0 && o.Succeeded() && decidesSuccess(o)
		}}
	completed = Guard{
		"every pod has ended, no failure ended the gang, and rank 0 reported all steps trained and exited 0",
		func(o *observation.Observation) bool {
			d := o.Job.Status.Drain
			return len(o.Live) == 0 && o.Rehearsal == nil && drainCause(o.Job) != v1alpha1.CauseFailure &&
				(o.Checkpoints.Completed || d != nil && d.Completed)
		}}
	resumePointUnknown = Guard{"every pod has ended, and a search of the volume must find the resume point",
		func(o *observation.Observation) bool {
			return len(o.Live) == 0 && o.Job.Status.Drain != nil && Search(o.Job) == nil && !resumePointKnown(o)
		}}
	searchFailed = Guard{"the search of the volume has failed, and more tries are left",
		func(o *observation.Observation) bool {
			return Search(o.Job) != nil && o.Checkpoints.SearchFailed && !resumePointKnown(o)
		}}

	permanent = Guard{"the failure is permanent or backoffLimit is spent",
		func(o *observation.Observation) bool {
			return drainCause(o.Job) == v1alpha1.CauseFailure &&
				(o.Job.Status.Drain.Permanent || o.Job.Status.Restarts >= spec.BackoffLimit(o.Job))
		}}
	backoffFirst = Guard{"and the cause requires a backoff",
		func(o *observation.Observation) bool { return backoff(o) > 0 }}
	otherwise = Guard{"and the gang can be queued at once",
		func(*observation.Observation) bool { return true }}
)

// drained adds to a guard that no pod runs any more, and that the resume point is known or the search for it
// is over. Only then are the cause and the resume point settled.
func drained(g Guard) Guard {
	return Guard{"every pod has ended, " + g.Name, func(o *observation.Observation) bool {
		return len(o.Live) == 0 && resumePointKnown(o) && g.Holds(o)
	}}
}

// decidesSuccess reports whether the roles of the spec tell whether the attempt succeeded. Without a leader,
// the Workers of another spec do not: with fewer of them, those that still train would not count.
func decidesSuccess(o *observation.Observation) bool {
	led := slices.ContainsFunc(o.Roles, func(r spec.Role) bool { return spec.Leads(r.Name) })
	return led || !o.SpecChanged() || o.SpecInvalid()
}

func causeIs(c v1alpha1.DrainCause) Guard {
	return Guard{"cause " + string(c), func(o *observation.Observation) bool { return drainCause(o.Job) == c }}
}

// Over reports whether the job has ended or will end without another attempt.
func Over(o *observation.Observation) bool {
	phase := o.Job.Status.Phase
	return phase.Finished() || phase == v1alpha1.PhaseDraining && permanent.Holds(o)
}

// canStart reports whether another attempt can be submitted to a scheduler.
func canStart(o *observation.Observation) bool { return o.Backend != nil && !o.SpecInvalid() }

// activeDeadline returns when activeDeadlineSeconds end a running gang; false if they do not. Only the time
// in phase Running counts, summed over all attempts. (batch/Job, job_controller.go of Kubernetes 1.37, and
// Kubeflow 1.9 reset their clocks to zero after a suspension.)
func activeDeadline(o *observation.Observation) (time.Time, bool) {
	s := o.Job.Spec.RunPolicy.ActiveDeadlineSeconds
	if s == nil || o.Job.Status.Phase != v1alpha1.PhaseRunning || o.PhaseSince().IsZero() {
		return time.Time{}, false
	}
	left := min(*s, math.MaxInt32) // 68 years; a time.Duration overflows at 292
	if w := o.Job.Status.Work; w != nil {
		left -= w.RunningSeconds
	}
	return o.PhaseSince().Add(time.Duration(left) * time.Second), true
}

// scheduleDeadline returns when scheduleTimeoutSeconds end the wait in the queue; false if they do not.
func scheduleDeadline(o *observation.Observation) (time.Time, bool) {
	s := o.Job.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds
	if s == nil || *s == 0 {
		return time.Time{}, false
	}
	return o.PhaseSince().Add(time.Duration(*s) * time.Second), true
}
