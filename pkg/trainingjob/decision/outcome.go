package decision

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// Outcome is what a transition says of itself.
type Outcome struct {
	// Reason and Message of the transition, for the status's history, message and conditions.
	Reason, Message string
	// Fresh: an attempt begins, so what is seen of the ranks belongs to the last one.
	Fresh bool
	// Settled: the cause of a drained attempt was settled, and ResumePoint is where the next attempt starts;
	// nil: at the beginning.
	Settled     bool
	ResumePoint *v1alpha1.CheckpointPoint
}
