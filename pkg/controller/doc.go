// Package controller is the imperative shell around the pure core of pkg/trainingjob. It answers one question: how does
// what the core decides reach the API server, once, whatever goes wrong on the way?
//
//	watches ──▶ ledger (what exists, by owner UID, ahead of the cache by our own writes)
//	               │
//	gather ────────┴──▶ Snapshot ──trainingjob.Decide──▶ Plan ──▶ apply: group, Service, deletes, creates
//	                                                          └──▶ status, once ──▶ events, metrics
//
// Nothing here knows what a phase means: the shell gathers, obeys the plan and remembers refusals.
//
// Invariants:
//   - A pass reads caches only. The exceptions are one uncached read of the job before the first create of an attempt,
//     and one of an object that holds a name or that the watch does not show for a long time.
//   - A plan with a transition writes the status and nothing else; effects follow in the pass that its watch event starts.
//   - Every write goes through the one client.Client that the Reconciler was given, or through its event recorder.
//   - Ownership is by UID. Nothing is adopted: objects are born by Create, and applied only with their UID as precondition.
//   - Nothing is written when nothing changed.
package controller
