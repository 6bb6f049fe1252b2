package account

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// RecordCheckpoints writes new data on checkpoints into the status at once, because a pod's data is lost with
// the pod. It reports whether anything was new.
func RecordCheckpoints(o *observation.Observation, p *decision.Plan) bool {
	if spec.Checkpoints(o.Job) == nil {
		return false
	}
	news := false
	if seen := &o.Checkpoints; seen.Latest != nil && !samePoint(p.Status.Checkpoint, seen.Latest) {
		cs := p.Checkpoint()
		latest := *seen.Latest
		cs.Latest, news = &latest, true
		if s := int32(math.Ceil(min(seen.SaveSeconds, 1e6))); s > 0 {
			cs.SaveSeconds = s
		}
		p.Note("checkpoint of step %d is complete", latest.Step)
	}
	return recordResume(o, p) || news
}

func samePoint(cs *v1alpha1.CheckpointStatus, point *v1alpha1.CheckpointPoint) bool {
	return cs != nil && cs.Latest != nil && cs.Latest.URI == point.URI && cs.Latest.Step == point.Step
}

// recordDrain writes what a drain needs after the pods are deleted. It reports whether any of it is new.
func recordDrain(o *observation.Observation, p *decision.Plan) bool {
	d := p.Status.Drain
	if d == nil || p.Status.Phase != v1alpha1.PhaseDraining {
		return false
	}
	before := *d
	d.Ran = d.Ran || o.Checkpoints.Ran
	d.CheckpointKnown = d.CheckpointKnown || o.Checkpoints.Known
	d.Completed = d.Completed || o.Checkpoints.Completed
	return before != *d
}

// recordResume sets the condition ResumeIgnored when the trainer trains steps again that its resume point
// covers. It reports whether the condition changed.
func recordResume(o *observation.Observation, p *decision.Plan) bool {
	st, report := &o.Job.Status, o.Checkpoints.Report
	if report == nil || report.FirstStep == nil || spec.ResumePoint(o.Job) == nil {
		return false
	}
	// Under scope Rank each start is checked once, when it is new: its own saves move the resume point.
	pr := st.Progress
	if report.Start != "" && pr != nil && pr.Attempt == st.Attempt && pr.Start == report.Start {
		return false
	}
	first, from := *report.FirstStep, resumeStep(o.Job)
	was := meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionResumeIgnored)
	switch ignored := first < from; {
	case ignored && !was:
		message := fmt.Sprintf("attempt %d was given the checkpoint of step %d and began at step %d: "+
			"let the trainer load RESUME_FROM_CHECKPOINT (docs/checkpoints.md)", st.Attempt, from, first)
		p.SetCondition(o, v1alpha1.ConditionResumeIgnored, true, v1alpha1.ReasonStepsRepeated, message)
		p.Warning(v1alpha1.ConditionResumeIgnored, "Resume", message)
		return true
	case !ignored && was:
		p.SetCondition(o, v1alpha1.ConditionResumeIgnored, false, v1alpha1.ReasonStepsContinued,
			"the trainer continues from its resume point")
		return true
	}
	return false
}
