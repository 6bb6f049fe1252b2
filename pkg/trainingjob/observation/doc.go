// Package observation answers one question: what is seen of a job? From a Snapshot, which is all that one
// reconcile has gathered, it derives the state of each rank, which ranks were lost to a disruption, which
// failed by themselves, and what is known of the training and its checkpoints.
//
//	Snapshot ──Of──▶ Observation: ranks, losses, failures, checkpoints
//
// It decides nothing and writes nothing: an Observation is read-only, and what follows from it is for package
// decision.
package observation
