// Package checkpoints answers one question: does a gang that is interrupted resume where it was?
//
// Simulated trainers run on a real control plane with real schedulers, and the operator's binary receives
// their reports. Each case interrupts a gang in its own way and then reads the outcome from the API server
// and the volume: the pods of the next attempt, the status, and the checkpoints. All cases share one check,
// which a trainer that ignores its resume point must fail.
package checkpoints
