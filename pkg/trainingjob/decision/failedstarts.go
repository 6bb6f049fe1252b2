package decision

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// maxFailedStarts attempts in a row that fail before their first step make the operator prefer an older
	// resume point. A single failure may have another cause.
	maxFailedStarts = 2
	// maxPassedOver bounds the checkpoints that the status names as passed over.
	maxPassedOver = 8
)

// failedStart reports whether the attempt failed before it trained a step on its resume point. A disruption
// is no evidence against the resume point.
func failedStart(o *observation.Observation) bool {
	st := &o.Job.Status
	if drainCause(o.Job) != v1alpha1.CauseFailure || st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil {
		return false
	}
	from, latest := st.Checkpoint.ResumeFrom, st.Checkpoint.Latest
	return !hasTrained(o) && latest != nil && latest.Step == from.Step
}

// hasTrained reports whether the attempt trained a step. A trainer at the step of its resume point has only
// loaded it; one that ignores its resume point trains lower steps.
func hasTrained(o *observation.Observation) bool {
	st, step, from := &o.Job.Status, o.Checkpoints.Step, o.Job.Status.Checkpoint.ResumeFrom.Step
	return st.Progress != nil && st.Progress.Attempt == st.Attempt && st.Progress.Step != from ||
		step != nil && *step > from
}

// failedStarts counts the attempts in a row that failed before their first step on the resume point,
// including the one that drains.
func failedStarts(o *observation.Observation) int32 {
	cs := o.Job.Status.Checkpoint
	switch {
	case cs == nil || cs.ResumeFrom == nil || hasTrained(o):
		return 0
	case failedStart(o):
		return cs.FailedStarts + 1
	}
	return cs.FailedStarts
}

// suspect reports whether the resume point of the attempt may be damaged, and the volume can be searched for
// another one.
func suspect(o *observation.Observation) bool {
	return failedStart(o) && spec.OnVolume(o.Job.Spec.Checkpoint)
}

// olderThan returns the step below which a search prefers checkpoints, nil for a search of all.
func olderThan(o *observation.Observation) *int64 {
	if !suspect(o) || failedStarts(o) < maxFailedStarts {
		return nil
	}
	return new(o.Job.Status.Checkpoint.ResumeFrom.Step)
}

// passOver replaces the resume point by an older checkpoint that the search found. It reports whether the
// search found one.
func passOver(o *observation.Observation, p *Plan, result *checkpoint.Termination) bool {
	search, found := Search(o.Job), result.Checkpoint
	if search == nil || search.OlderThan == nil || found == nil || found.Step >= *search.OlderThan {
		return false
	}
	cs := p.Checkpoint()
	bad := *cs.ResumeFrom
	message := fmt.Sprintf("%d attempts in a row, the last of them attempt %d, failed before their first step "+
		"on it", failedStarts(o), o.Job.Status.Attempt)
	passed := v1alpha1.PassedOverCheckpoint{
		URI: bad.URI, Step: bad.Step, Reason: v1alpha1.PassedOverFailedStarts, Message: message,
	}
	cs.PassedOver = append([]v1alpha1.PassedOverCheckpoint{passed}, cs.PassedOver...)
	cs.PassedOver = cs.PassedOver[:min(len(cs.PassedOver), maxPassedOver)]
	goBack(o, cs, found.Step)
	p.Warning("CheckpointPassedOver", "Resume", fmt.Sprintf("the checkpoint of step %d (%s) is passed over: %s;"+
		" training resumes from step %d; to try it again, set spec.checkpoint.resumeFrom", bad.Step, bad.URI,
		message, found.Step))
	return true
}

// warnOfFailedStarts records an event about a resume point that several attempts failed on and that has no
// replacement.
func warnOfFailedStarts(o *observation.Observation, p *Plan) {
	n, from := failedStarts(o), p.Checkpoint().ResumeFrom
	if n < maxFailedStarts || !failedStart(o) {
		return
	}
	remedy := "no older one is complete"
	if !spec.OnVolume(o.Job.Spec.Checkpoint) {
		remedy = "suspend the job and choose another one with spec.checkpoint.resumeFrom"
	}
	p.Warning("CheckpointSuspect", "Resume", fmt.Sprintf(
		"%d attempts in a row failed before their first step on the checkpoint of step %d (%s): %s", n, from.Step,
		from.URI, remedy))
}
