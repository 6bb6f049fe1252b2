package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// mlflowOf returns the MLflow settings of the ranks of a new attempt. They are kept in the status, so that
// all ranks get the same, and no change of the configuration or of an annotation affects a running attempt.
func mlflowOf(o *observation.Observation) *v1alpha1.MLflowStatus {
	if o.MLflowTrackingURI == "" {
		return nil
	}
	job := o.Job
	return &v1alpha1.MLflowStatus{
		TrackingURI:    o.MLflowTrackingURI,
		ExperimentName: spec.MLflowExperiment(job.Annotations, job.Namespace),
		RunID:          job.Annotations[v1alpha1.AnnotationMLflowRunID],
	}
}

// Follow copies into the status what can change during an attempt: the number of GPUs that was not known, the
// MLflow run of a gang that was queued before its run was known, and the hash of an unchanged spec, which
// differs between versions of the operator. It reports whether it copied a number or a run.
func Follow(o *observation.Observation, p *Plan) bool {
	st := &p.Status
	if !o.SpecChanged() && !st.Phase.Finished() && st.Attempt > 0 {
		st.Revision = o.Revision
	}
	counted := followGPUs(o, p)
	run := LateRun(o)
	if run == "" || o.SpecInvalid() {
		return counted
	}
	st.MLflow.RunID = run
	return true
}

// LateRun returns the MLflow run of a gang that was queued before its run was known. This is common for first
// attempts: the server creates the run when it sees the job. "" if there is none, or if a pod exists, because
// all ranks must get the same run. No rank is created until the status has the run.
func LateRun(o *observation.Observation) string {
	st := &o.Job.Status
	if st.Phase != v1alpha1.PhaseQueued || st.MLflow == nil || st.MLflow.RunID != "" || len(o.Pods) > 0 {
		return ""
	}
	return o.Job.Annotations[v1alpha1.AnnotationMLflowRunID]
}
