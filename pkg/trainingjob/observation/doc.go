// Package observation derives the state of a job from a Snapshot, the input of one reconcile: the state of
// each rank, the ranks that a disruption took, the ranks that failed by themselves, the training and its
// checkpoints.
//
//	Snapshot ──Of──▶ Observation: ranks, losses, failures, checkpoints
//
// It decides nothing and writes nothing: an Observation is read-only, and package decision acts on it.
package observation
