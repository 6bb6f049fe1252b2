// Package explain explains what a job is doing and, if it does not run, why not.
//
// The operator has written the cause into the status: the one blocker with its numbers, the cause of a drain,
// the end of a backoff, the last failure, the dry run of a preemption. Of turns the status into one value and
// computes what is short. The server returns the value and the kubectl plugin prints it.
//
//	status ── Of ──▶ Explanation{summary, blocker, arithmetic, next step}
//
// Invariants:
//   - What the status does not have is left out or named in Unknown; a missing number is never a zero.
//   - The package uses no client, no context and no clock.
package explain
