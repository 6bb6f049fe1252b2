package decision

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// Outcome is the result of a transition. The packages account and status write their fields from it.
type Outcome struct {
	// Reason and Message of the transition, for the status's history, message and conditions.
	Reason, Message string
	// NewAttempt: the observed ranks belong to the former attempt.
	NewAttempt bool
	// Submitted: the gang was submitted to its scheduler for a new attempt.
	Submitted bool
	// RestartsSpent: containers were restarted more often than backoffLimit.
	RestartsSpent bool
	// HangRestart: the attempt ends because its gang hangs.
	HangRestart bool
	// Settled: the cause of a drained attempt was settled. The next attempt starts from ResumePoint; nil:
	// from the beginning.
	Settled     bool
	ResumePoint *v1alpha1.CheckpointPoint
	// Blocker is why the gang cannot be queued; nil if it can.
	Blocker *v1alpha1.Blocker
}
