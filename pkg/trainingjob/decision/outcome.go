package decision

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// Outcome is the result of a transition. From it the rooms account and status write the fields that they own.
type Outcome struct {
	// Reason and Message of the transition, for the status's history, message and conditions.
	Reason, Message string
	// NewAttempt: what is observed of the ranks belongs to the former attempt.
	NewAttempt bool
	// Submitted: the gang goes to its scheduler for an attempt that begins.
	Submitted bool
	// RestartsSpent: containers were restarted more often than backoffLimit.
	RestartsSpent bool
	// Settled: the cause of a drained attempt was settled, and ResumePoint is where the next attempt starts;
	// nil: at the beginning.
	Settled     bool
	ResumePoint *v1alpha1.CheckpointPoint
	// Blocker is why the gang cannot be queued; nil: it can.
	Blocker *v1alpha1.Blocker
}
