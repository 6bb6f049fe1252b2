package decision

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// drainCause returns the cause of the current drain; "" if there is none.
func drainCause(job *v1alpha1.TrainingJob) v1alpha1.DrainCause {
	if d := job.Status.Drain; d != nil {
		return d.Cause
	}
	return ""
}

// drainReason returns the reason of the current drain, as in the job's history and conditions.
func drainReason(job *v1alpha1.TrainingJob) string {
	if d := job.Status.Drain; d != nil {
		return d.Reason
	}
	return v1alpha1.ReasonDrained
}
