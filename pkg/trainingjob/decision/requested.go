package decision

import (
	"fmt"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// drainToSearch begins phase Draining, to which a search belongs. No rank runs.
func drainToSearch(o *observation.Observation, p *Plan) Outcome {
	return drain(o, p, v1alpha1.CauseSpecChange, v1alpha1.ReasonSpecChanged,
		"spec.checkpoint.resumeFrom is %s: the operator searches for it", spec.OpenRequest(o.Job))
}

// takeRequested returns the requested checkpoint, or records the problem with it and returns nil. With a
// problem no attempt starts until the user changes the spec, because the user requested this checkpoint and
// no other.
func takeRequested(o *observation.Observation, p *Plan, request string) *v1alpha1.CheckpointPoint {
	cs := p.Checkpoint()
	point, problem := requestedPoint(o, request)
	cs.Requested = &v1alpha1.RequestedCheckpoint{ResumeFrom: request, Problem: problem}
	if problem != "" {
		p.Warning(v1alpha1.ReasonInvalidSpec, "Resume", fmt.Sprintf(
			"spec.checkpoint.resumeFrom is %s: %s", request, problem))
		return nil
	}
	goBack(o, cs, point.Step)
	cs.PassedOver = slices.DeleteFunc(cs.PassedOver, func(c v1alpha1.PassedOverCheckpoint) bool {
		return c.URI == point.URI
	})
	p.Normal("ResumePointChosen", "Resume", fmt.Sprintf(
		"by spec.checkpoint.resumeFrom, training resumes from step %d (%s)", point.Step, point.URI))
	return point
}

// requestedPoint returns the checkpoint that a request names, or the problem with it. Only the trainer can
// read an object store, so the operator accepts a URI there unchecked.
func requestedPoint(o *observation.Observation, request string) (*v1alpha1.CheckpointPoint, string) {
	if !spec.OnVolume(o.Job.Spec.Checkpoint) {
		u, err := checkpoint.ParseURI(request)
		if err != nil {
			return nil, err.Error()
		}
		return &v1alpha1.CheckpointPoint{URI: u.String(), Step: checkpoint.StepOf(u.Path)}, ""
	}
	result, search := searchResult(o), Search(o.Job)
	switch {
	case search == nil || search.Only != request:
		return nil, "the volume was not searched for it: to search again, suspend and resume the job"
	case result == nil:
		return nil, "the volume could not be searched for it: to search again, suspend and resume the job"
	case result.Checkpoint != nil:
		return observation.PointOf(result.Checkpoint, time.Time{}), ""
	case len(result.PassedOver) > 0:
		return nil, fmt.Sprintf("%s is not complete: %s", result.PassedOver[0].URI, result.PassedOver[0].Why)
	}
	return nil, "the volume has no such checkpoint"
}

// goBack records that the next attempt resumes from an older checkpoint: later ones no longer count.
func goBack(o *observation.Observation, cs *v1alpha1.CheckpointStatus, step int64) {
	cs.Branch = &v1alpha1.CheckpointBranch{Attempt: o.Job.Status.Attempt + 1, Step: step}
}

// requestRefused reports whether the requested checkpoint has a problem.
func requestRefused(p *Plan) bool {
	cs := p.Status.Checkpoint
	return cs != nil && cs.Requested != nil && cs.Requested.Problem != ""
}

// forgetProblem makes the operator search again when the user resumes the suspended job.
func forgetProblem(p *Plan) {
	if requestRefused(p) {
		p.Status.Checkpoint.Requested = nil
	}
}
