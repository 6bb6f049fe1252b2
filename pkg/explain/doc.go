// Package explain answers one question: what is a job doing, and if it does not run, why not?
//
// The operator has decided it already and written it into the status: the one blocker with its numbers, the
// cause of a drain, the end of a backoff, the last failure, the dry run of a preemption. Here it becomes one
// value with the arithmetic worked out, which the server answers with and the kubectl plugin prints. Nothing
// is decided anew, so that both say what the operator said.
//
//	status ── Of ──▶ Explanation{summary, blocker, arithmetic, next step}
//
// Invariants:
//   - What the status does not say is left out or named in Unknown; a missing number is never a zero.
//   - Nothing here knows a client, a context or the clock.
package explain
