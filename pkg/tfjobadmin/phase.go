package tfjobadmin

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// Phase of a job. The document shows running alone.
type Phase string

// Phases of the dialect.
const (
	PhasePending    Phase = "pending"
	PhaseRunning    Phase = "running"
	PhaseStopping   Phase = "stopping"
	PhaseRestarting Phase = "restarting"
	PhaseSuspended  Phase = "suspended"
	PhaseSucceeded  Phase = "succeeded"
	PhaseFailed     Phase = "failed"
	// PhaseDeleted is a job that was deleted before it finished.
	PhaseDeleted Phase = "deleted"
)

// PhaseOf is the phase of a job whose TrainingJob has the given one. One that has none yet is pending.
func PhaseOf(phase v1alpha1.Phase) Phase {
	switch phase {
	case v1alpha1.PhaseRunning:
		return PhaseRunning
	case v1alpha1.PhaseDraining:
		return PhaseStopping
	case v1alpha1.PhaseRestarting:
		return PhaseRestarting
	case v1alpha1.PhaseSuspended:
		return PhaseSuspended
	case v1alpha1.PhaseSucceeded:
		return PhaseSucceeded
	case v1alpha1.PhaseFailed:
		return PhaseFailed
	}
	return PhasePending // Pending, Queued, Starting
}
