// Package checkpoints answers one question: does a gang that is ended go on where it was?
//
// Simulated trainers train on a real control plane with real schedulers. The operator's own binary takes
// their reports. Each case ends a gang in its way, and reads from the API server and from the volume what
// became of the work: the pods of the next attempt, the status, and the checkpoints that are there. One check
// decides for all of them, and a trainer that ignores its resume point must not pass it.
package checkpoints
