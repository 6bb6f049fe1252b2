package observation

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// LacksCapacity reports whether the status of a queued gang reports a lack of resources or quota.
func LacksCapacity(st *v1alpha1.TrainingJobStatus) bool {
	if st.Phase != v1alpha1.PhaseQueued || st.Scheduling == nil || st.Scheduling.Blocker == nil {
		return false
	}
	switch st.Scheduling.Blocker.Reason {
	case v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded:
		return true
	}
	return false
}

// IsOutstanding reports whether a preemption plan is being carried out.
func IsOutstanding(p *v1alpha1.PreemptionStatus) bool {
	return p.Phase != "" && p.Phase != v1alpha1.PreemptionHandedOver
}
