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

// drainToLook: nothing runs, but a search belongs to phase Draining.
func drainToLook(o *observation.Observation, p *Plan) Outcome {
	return drain(o, p, v1alpha1.CauseSpecChange, v1alpha1.ReasonSpecChanged,
		"spec.checkpoint.resumeFrom is %s: the checkpoint is looked for", spec.OpenRequest(o.Job))
}

// takeRequested makes the requested checkpoint the latest one, or records why that is not possible. Then no
// attempt starts until the spec is changed: the user asked for this checkpoint and no other.
func takeRequested(o *observation.Observation, p *Plan, request string) {
	cs := p.Checkpoint()
	point, problem := requestedPoint(o, request)
	cs.Requested = &v1alpha1.RequestedCheckpoint{ResumeFrom: request, Problem: problem}
	if problem != "" {
		p.Warning(v1alpha1.ReasonInvalidSpec, "Resume", fmt.Sprintf(
			"spec.checkpoint.resumeFrom is %s: %s", request, problem))
		return
	}
	goBack(o, cs, point)
	cs.PassedOver = slices.DeleteFunc(cs.PassedOver, func(c v1alpha1.PassedOverCheckpoint) bool {
		return c.URI == point.URI
	})
	p.Normal("ResumePointChosen", "Resume", fmt.Sprintf(
		"by spec.checkpoint.resumeFrom, training resumes from step %d (%s)", point.Step, point.URI))
}

// requestedPoint is the checkpoint that a request names, or the problem with it. Only the trainer sees an
// object store, so a URI there is taken as it is.
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
		return nil, "the volume was not searched for it: to look for it again, suspend and resume the job"
	case result == nil:
		return nil, "the volume could not be searched for it: to look for it again, suspend and resume the job"
	case result.Checkpoint != nil:
		return observation.PointOf(result.Checkpoint, time.Time{}), ""
	case len(result.PassedOver) > 0:
		return nil, fmt.Sprintf("%s is not complete: %s", result.PassedOver[0].URI, result.PassedOver[0].Why)
	}
	return nil, "the volume has no such checkpoint"
}

// goBack makes a checkpoint the latest one. What earlier attempts saved after it no longer counts.
func goBack(o *observation.Observation, cs *v1alpha1.CheckpointStatus, point *v1alpha1.CheckpointPoint) {
	cs.Latest = point
	cs.Branch = &v1alpha1.CheckpointBranch{Attempt: o.Job.Status.Attempt + 1, Step: point.Step}
}

// requestRefused reports whether no attempt can resume from what the user asked for.
func requestRefused(p *Plan) bool {
	cs := p.Status.Checkpoint
	return cs != nil && cs.Requested != nil && cs.Requested.Problem != ""
}

// forgetProblem lets a request be looked for again when a suspended job is resumed.
func forgetProblem(p *Plan) {
	if requestRefused(p) {
		p.Status.Checkpoint.Requested = nil
	}
}
