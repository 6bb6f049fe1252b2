package decision

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// mlflowOf is what the ranks of an attempt that begins now are told of MLflow. The status has it, so that
// all of them are told the same, and neither another configuration nor an annotation changes an attempt that
// runs.
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

// Follow adopts in the status what may change while an attempt goes on: the MLflow run of a gang that was
// queued before its run was known, and the hash of an unchanged spec, which differs between two versions of
// the operator. It reports whether it did the first.
func Follow(o *observation.Observation, p *Plan) bool {
	st := &p.Status
	if !o.SpecChanged() && !st.Phase.Finished() && st.Attempt > 0 {
		st.Revision = o.Revision
	}
	run := LateRun(o)
	if run == "" || o.SpecInvalid() {
		return false
	}
	st.MLflow.RunID = run
	return true
}

// LateRun is the run of a gang that was queued before its run was known, as that of most first attempts: it
// is made when the server learns of the job. "" where there is none, or where a rank of the attempt exists:
// the others must be told the same. No rank is created while there is one, so that the status has it first.
func LateRun(o *observation.Observation) string {
	st := &o.Job.Status
	if st.Phase != v1alpha1.PhaseQueued || st.MLflow == nil || st.MLflow.RunID != "" || len(o.Pods) > 0 {
		return ""
	}
	return o.Job.Annotations[v1alpha1.AnnotationMLflowRunID]
}
