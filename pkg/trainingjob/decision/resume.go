package decision

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// pin settles the resume point of the next attempt, the same for every rank, once no rank of this attempt is
// left. It never goes back, unless the last resume point is lost or passed over, or the user requests an
// older one. It returns the resume point; nil for the beginning.
func pin(o *observation.Observation, p *Plan) *v1alpha1.CheckpointPoint {
	if spec.Checkpoints(o.Job) == nil {
		return nil
	}
	cs := p.Checkpoint()
	before := cs.ResumeFrom
	latest, wentBack := chooseLatest(o, p)
	cs.ResumeFrom = latest.DeepCopy()
	cs.FailedStarts = 0
	if before != nil && cs.ResumeFrom != nil && cs.ResumeFrom.URI == before.URI {
		cs.FailedStarts = failedStarts(o)
		warnOfFailedStarts(o, p)
	}
	lost := !wentBack && before != nil && (cs.ResumeFrom == nil || cs.ResumeFrom.Step < before.Step)
	// A search for a requested checkpoint that is not there has searched nothing else.
	attempt, searched := o.Job.Status.Attempt, searchResult(o) != nil && !requestRefused(p)
	switch {
	case lost:
		setUnknown(o, p, v1alpha1.ReasonCheckpointLost, fmt.Sprintf(
			"the checkpoint of step %d that attempt %d resumed from is deleted or damaged: training %s",
			before.Step, attempt, resumption(p)))
	case !searched && unresolved(o.Job) && !hasRun(o):
		// The condition stays as it is.
	case !searched && hasRun(o) && !terminationSuffices(o):
		setUnknown(o, p, v1alpha1.ReasonUnresolved, fmt.Sprintf(
			"the termination message of attempt %d (or of one before it) is missing, "+
				"and the operator could not search for what it saved: by earlier reports, training %s",
			attempt, resumption(p)))
	case cs.ResumeFrom == nil && hasRun(o):
		setUnknown(o, p, v1alpha1.ReasonNoCheckpoint, fmt.Sprintf(
			"attempt %d left no complete checkpoint: training %s", attempt, resumption(p)))
	default:
		p.SetCondition(o, v1alpha1.ConditionCheckpointUnknown, false, v1alpha1.ReasonCheckpointKnown,
			"training "+resumption(p))
	}
	return cs.ResumeFrom
}

// chooseLatest returns the checkpoint that the next attempt resumes from, nil for the beginning, and whether
// the training goes back on purpose.
func chooseLatest(o *observation.Observation, p *Plan) (latest *v1alpha1.CheckpointPoint, wentBack bool) {
	cs, result := p.Checkpoint(), searchResult(o)
	latest = cs.Latest
	request := spec.OpenRequest(o.Job)
	if cs.Requested != nil && o.Job.Spec.Checkpoint.ResumeFrom == "" {
		cs.Requested = nil
	}
	switch {
	case request != "":
		if point := takeRequested(o, p, request); point != nil {
			return point, true
		}
		return latest, false
	case result == nil:
		return latest, false
	}
	wentBack = passOver(o, p, result)
	latest = foundPoint(latest, result)
	for _, passed := range result.PassedOver {
		p.Warning("CheckpointPassedOver", "Resolve", fmt.Sprintf("%s is not complete: %s", passed.URI, passed.Why))
	}
	return latest, wentBack
}

// searchResult returns what the search found. It returns nil if the reason for the search no longer holds:
// the user has withdrawn the request, or a disruption caused the failure of the attempt.
func searchResult(o *observation.Observation) *checkpoint.Termination {
	s := Search(o.Job)
	withdrawn := s != nil && s.Only != "" && s.Only != spec.OpenRequest(o.Job)
	cleared := s != nil && s.OlderThan != nil && olderThan(o) == nil
	if withdrawn || cleared {
		return nil
	}
	return o.Checkpoints.Resolved
}

// foundPoint returns the checkpoint that a search found. It has the time of its commit if it was known
// already.
func foundPoint(known *v1alpha1.CheckpointPoint, result *checkpoint.Termination) *v1alpha1.CheckpointPoint {
	found := result.Checkpoint
	if found == nil {
		return nil
	}
	if known != nil && known.URI == found.URI && known.Step == found.Step {
		return known
	}
	return observation.PointOf(found, time.Time{})
}

// setUnknown reports that the resume point may not be the newest complete checkpoint.
func setUnknown(o *observation.Observation, p *Plan, reason, message string) {
	p.SetCondition(o, v1alpha1.ConditionCheckpointUnknown, true, reason, message)
	p.Warning(v1alpha1.ConditionCheckpointUnknown, "Resume", message)
}

// resumption returns what the next attempt does, as the end of a sentence.
func resumption(p *Plan) string {
	if cs := p.Status.Checkpoint; cs != nil && cs.ResumeFrom != nil {
		return fmt.Sprintf("resumes from step %d", cs.ResumeFrom.Step)
	}
	return "starts from the beginning"
}

// andResumes returns the end of the message of a new attempt; "" for jobs without checkpoints.
func andResumes(job *v1alpha1.TrainingJob, p *Plan) string {
	if spec.Checkpoints(job) == nil {
		return ""
	}
	return "; it " + resumption(p)
}

// dropForeignResumePoint drops a resume point outside of the place that spec.checkpoint names: no rank could
// read it.
func dropForeignResumePoint(o *observation.Observation, p *Plan) {
	cs := p.Status.Checkpoint
	if spec.Checkpoints(o.Job) == nil || cs == nil {
		return
	}
	if from := cs.ResumeFrom; from != nil && !spec.OwnsCheckpoint(o.Job, from.URI) {
		cs.ResumeFrom = nil
		setUnknown(o, p, v1alpha1.ReasonPlaceChanged, fmt.Sprintf(
			"spec.checkpoint has changed, and %s is not in the new place: training %s", from.URI, resumption(p)))
	}
}

// hasRun reports whether rank 0's trainer of this attempt has started.
func hasRun(o *observation.Observation) bool {
	d := o.Job.Status.Drain
	return o.Checkpoints.Ran || d != nil && d.Ran
}

// terminationRead reports whether rank 0's termination message was read, and its agent saw the whole volume.
func terminationRead(o *observation.Observation) bool {
	d := o.Job.Status.Drain
	return o.Checkpoints.Known || d != nil && d.CheckpointKnown
}

// terminationSuffices reports whether no search is needed: rank 0 reported what its attempt saved, the
// checkpoints of earlier attempts are known, and the resume point is not suspect.
func terminationSuffices(o *observation.Observation) bool {
	return terminationRead(o) && !unresolved(o.Job) && !suspect(o)
}

// unresolved reports whether an earlier attempt may have saved a checkpoint that is not known because the
// volume could not be searched. It holds until a search succeeds.
func unresolved(job *v1alpha1.TrainingJob) bool {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionCheckpointUnknown)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonUnresolved &&
		spec.OnVolume(job.Spec.Checkpoint)
}
