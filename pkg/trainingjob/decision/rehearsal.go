package decision

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// rehearsalHeartbeat is how often the agent of a rehearsal may report, so that attempts stay short.
	rehearsalHeartbeat = 2 * time.Second
	// killTime is how long the operator waits for an agent to kill its trainer, before it deletes the pods.
	killTime = 2 * time.Minute
	// killInSaveTries of the agent to meet a save that the trainer writes, each for a grace, at most tryTime.
	killInSaveTries = 5
	tryTime         = time.Minute
)

// Guards on rehearsals.
var (
	rehearsalPassed = Guard{"a rehearsal is over and has passed",
		func(o *observation.Observation) bool { return rehearsalResult(o) == v1alpha1.RehearsalResultPassed }}
	rehearsalNotPassed = Guard{"a rehearsal is over and has failed, or is incomplete",
		func(o *observation.Observation) bool {
			result := rehearsalResult(o)
			return result != "" && result != v1alpha1.RehearsalResultPassed
		}}
	rehearsalDue = Guard{"a rehearsal has trained enough steps to end the attempt in the next way",
		func(o *observation.Observation) bool {
			r := o.Rehearsal
			return r != nil && o.Checkpoints.Report != nil && canSave(o) &&
				rehearsal.Due(r.Policy, r.Attempts, r.Running)
		}}
)

// RehearsalEnding returns why no other attempt of a rehearsal follows. The zero Ending is that of a job that
// is no rehearsal, or whose rehearsal continues.
func RehearsalEnding(o *observation.Observation) rehearsal.Ending {
	r := o.Rehearsal
	if r == nil {
		return rehearsal.Ending{}
	}
	switch o.Job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		return activeEnding(o, r)
	case v1alpha1.PhaseDraining:
		return drainedEnding(o, r)
	}
	return rehearsal.Ending{}
}

// activeEnding returns why a rehearsal that is queued or runs is over.
func activeEnding(o *observation.Observation, r *observation.Rehearsal) rehearsal.Ending {
	runs := o.Job.Status.Phase == v1alpha1.PhaseRunning
	switch {
	case o.Succeeded() && decidesSuccess(o):
		return completedEarly(o, r)
	case runs && rehearsal.SavesNothing(r.Policy, r.Attempts, r.Running):
		return rehearsal.Ending{Over: true, SavesNothing: true}
	case runs && r.Running.Total >= r.Policy.Timeout:
		return rehearsal.Ending{Over: true, Problem: fmt.Sprintf("timeoutSeconds (%d) have passed in attempt %d: "+
			"raise spec.rehearsal.timeoutSeconds, or choose fewer ways", int64(r.Policy.Timeout.Seconds()),
			o.Job.Status.Attempt)}
	case !runs && r.Waited >= r.Policy.Timeout:
		return rehearsal.Ending{Over: true, Problem: fmt.Sprintf("the gang has waited for timeoutSeconds (%d) "+
			"to run: free capacity, or rehearse with fewer ranks", int64(r.Policy.Timeout.Seconds()))}
	}
	return rehearsal.Ending{}
}

// drainedEnding returns why a rehearsal is over whose attempt has drained.
func drainedEnding(o *observation.Observation, r *observation.Rehearsal) rehearsal.Ending {
	d := o.Job.Status.Drain
	if d == nil || len(o.Live) > 0 || !resumePointKnown(o) || len(r.Attempts) == 0 {
		return rehearsal.Ending{}
	}
	last := &r.Attempts[len(r.Attempts)-1]
	early := d.CommandID == "" && o.Succeeded() && decidesSuccess(o) || o.Checkpoints.Completed || d.Completed
	switch {
	case early && d.Cause != v1alpha1.CauseFailure:
		return completedEarly(o, r)
	case last.Attempt != o.Job.Status.Attempt: // it has not trained
		return rehearsal.Ending{}
	case d.Cause == v1alpha1.CauseFailure,
		d.Cause == v1alpha1.CauseRehearsal && d.Way == "" && !last.Interrupted:
		return rehearsal.Ending{Over: true}
	case rehearsal.Interruptions(r.Attempts) > rehearsal.MaxInterruptions:
		return rehearsal.Ending{Over: true, Problem: fmt.Sprintf("%d attempts were interrupted, the last one by "+
			"%s: rehearse where nothing preempts the gang", rehearsal.Interruptions(r.Attempts), d.Reason)}
	}
	return rehearsal.Ending{}
}

// completedEarly is the ending of a rehearsal whose trainer has trained every step. If all ways were played,
// its last attempt ends so.
func completedEarly(o *observation.Observation, r *observation.Rehearsal) rehearsal.Ending {
	end := rehearsal.Ending{Over: true}
	before := r.Attempts
	if d := o.Job.Status.Drain; d != nil && d.Way != "" && len(before) > 0 {
		before = before[:len(before)-1]
	}
	if rehearsal.Played(before) < len(r.Policy.Ways) {
		end.Problem = fmt.Sprintf("the trainer completed all steps in attempt %d: train more steps",
			o.Job.Status.Attempt)
	}
	return end
}

// rehearsalResult returns the result of a rehearsal that is over; "" while it continues.
func rehearsalResult(o *observation.Observation) v1alpha1.RehearsalResult {
	end := RehearsalEnding(o)
	if !end.Over {
		return ""
	}
	_, result := rehearsal.Judge(o.Rehearsal.Policy, o.Rehearsal.Attempts, end)
	return result
}

// endRehearsal ends the job with the result of the rehearsal. Its ranks, if any run, are deleted as those of
// any finished job.
func endRehearsal(o *observation.Observation, p *Plan) Outcome {
	r, end := o.Rehearsal, RehearsalEnding(o)
	checks, result := rehearsal.Judge(r.Policy, r.Attempts, end)
	message := rehearsal.Summary(r.Policy, r.Attempts, end, checks, result)
	switch result {
	case v1alpha1.RehearsalResultPassed:
		finish(o, p)
		p.Normal(v1alpha1.ReasonRehearsalPassed, "Finish", message)
		return Outcome{Reason: v1alpha1.ReasonRehearsalPassed, Message: message}
	case v1alpha1.RehearsalResultFailed:
		return fail(o, p, "Finish", v1alpha1.ReasonRehearsalFailed, message)
	}
	return fail(o, p, "Finish", v1alpha1.ReasonRehearsalIncomplete, message)
}

// settleRehearsal is endRehearsal for an attempt that has drained.
func settleRehearsal(o *observation.Observation, p *Plan) Outcome {
	pinned := pin(o, p)
	outcome := endRehearsal(o, p)
	outcome.Settled, outcome.ResumePoint = true, pinned
	return outcome
}

// drainRehearsal ends an attempt in the next way.
func drainRehearsal(o *observation.Observation, p *Plan) Outcome {
	r := o.Rehearsal
	way, played := rehearsal.Next(r.Policy, r.Attempts), rehearsal.Played(r.Attempts)
	of := fmt.Sprintf("way %d of %d, %s", played+1, len(r.Policy.Ways), way)
	what := ""
	switch way {
	case v1alpha1.RehearsalKill:
		what = "the agent of rank 0 kills its trainer"
	case v1alpha1.RehearsalAsk:
		what = "the trainer saves and exits"
	case v1alpha1.RehearsalTerm:
		what = "the pods are deleted"
	case v1alpha1.RehearsalKillInSave:
		what = "the agent of rank 0 kills its trainer in a save"
	default:
		of, what = "the last attempt", "the trainer saves and exits"
	}
	outcome := drain(o, p, v1alpha1.CauseRehearsal, v1alpha1.ReasonRehearsalPlayed, "rehearsal: %s "+
		"(%s)", what, of)
	d := p.Status.Drain
	d.Way = way
	switch grace := time.Duration(r.Policy.GraceSeconds) * time.Second; way {
	case v1alpha1.RehearsalKill:
		command(o, d, killTime)
	case v1alpha1.RehearsalKillInSave:
		command(o, d, killTime+killInSaveTries*min(grace, tryTime))
	case v1alpha1.RehearsalTerm:
	default:
		requestSave(o, d)
		outcome.Message = d.Message
	}
	p.Normal(outcome.Reason, "Drain", outcome.Message)
	return outcome
}

// command gives rank 0's agent the time to carry out the way that a drain names.
func command(o *observation.Observation, d *v1alpha1.DrainStatus, limit time.Duration) {
	at := metav1.NewTime(o.Time().Add(limit))
	d.CommandID, d.Deadline = fmt.Sprintf("rehearsal-%d", o.Job.Status.Attempt), &at
}

// kills reports whether the agent of rank 0 kills its trainer in a drain.
func kills(d *v1alpha1.DrainStatus) bool {
	return d.Way == v1alpha1.RehearsalKill || d.Way == v1alpha1.RehearsalKillInSave
}

// rehearsalAnswer changes an answer to the agent of a rehearsal.
func rehearsalAnswer(job *v1alpha1.TrainingJob, a *checkpoint.Answer) {
	if !spec.IsRehearsal(job) {
		return
	}
	a.MinIntervalSeconds = int32(rehearsalHeartbeat / time.Second)
	if d := job.Status.Drain; a.Command == checkpoint.CommandCheckpointAndExit && kills(d) {
		a.Command = checkpoint.CommandKill
		if d.Way == v1alpha1.RehearsalKillInSave {
			a.Command = checkpoint.CommandKillInSave
		}
	}
}

// wantsCheckpoint reports whether a rehearsal requests a checkpoint and trains on.
func wantsCheckpoint(o *observation.Observation) bool {
	r := o.Rehearsal
	return r != nil && rehearsal.WantsSave(r.Policy, r.Attempts, r.Running)
}

// rehearsalDeadline returns when time alone can change what a rehearsal does next.
func rehearsalDeadline(o *observation.Observation) (time.Time, bool) {
	r := o.Rehearsal
	switch {
	case r == nil:
	case o.Job.Status.Phase == v1alpha1.PhaseRunning:
		return o.Now.Add(rehearsal.Wait(r.Policy, r.Attempts, r.Running)), true
	case o.Job.Status.Phase == v1alpha1.PhaseQueued, o.Job.Status.Phase == v1alpha1.PhaseStarting:
		return o.Now.Add(max(0, r.Policy.Timeout-r.Waited)), true
	}
	return time.Time{}, false
}
