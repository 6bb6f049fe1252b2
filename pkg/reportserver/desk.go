package reportserver

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Desk says what a job, as the cache has it, means for a report. Its methods are pure: they read nothing but their arguments and
// change none of them.
type Desk interface {
	// Base is the URI under which all attempts of the job write; false: the job has no checkpoints.
	Base(*v1alpha1.TrainingJob) (checkpoint.URI, bool)
	// Acknowledged says whether the job's status holds what a report must not lose: its commit, or the result of `agent resolve`. It is
	// asked of no other report. What the status never will hold, because it has a later commit, counts as acknowledged: else its agent
	// would repeat it for ever.
	Acknowledged(*v1alpha1.TrainingJob, *checkpoint.Report) bool
	// Answer to rank 0 of the running attempt.
	Answer(*v1alpha1.TrainingJob) checkpoint.Answer
}

// lasting says whether a report has something that its sender may only forget once it is persisted.
func lasting(r *checkpoint.Report) bool { return committed(r) || r.Phase == checkpoint.PhaseResolved }
