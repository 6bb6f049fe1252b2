package decision

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// drainCause is the cause of the drain under way; "" when there is none.
func drainCause(job *v1alpha1.TrainingJob) v1alpha1.DrainCause {
	if d := job.Status.Drain; d != nil {
		return d.Cause
	}
	return ""
}

// drainReason is the reason of the drain under way, as the job's history and conditions show it.
func drainReason(job *v1alpha1.TrainingJob) string {
	if d := job.Status.Drain; d != nil {
		return d.Reason
	}
	return v1alpha1.ReasonDrained
}
