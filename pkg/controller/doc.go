// Package controller is the imperative shell around the pure core of pkg/trainingjob. It answers one
// question: how does what the core decides reach the API server, once, whatever goes wrong on the way?
//
//	informers -> memory.OwnedCache: what exists, by owner UID, overlaid by our own writes
//	                 |           memory.JobStates: what one reconcile remembers for the next
//	                 v                   v
//	planner: who makes room, or would, every few seconds (off by default)
//	                 v
//	gatherer -> Snapshot -> trainingjob.Decide -> Plan -> writer: group, network, deletes, creates
//	                                                   -> write.Statuses: status, once; events, metrics
//
// Nothing here knows what a phase means: the shell gathers, carries out the plan and remembers rejections.
//
// Invariants:
//   - A reconcile reads caches only. The exceptions are what a write must know for certain (the job before
//     the first create of an attempt and before its gang is released, an object before it is applied or where
//     it holds a name), an object that the watch does not show for long, claims, and the job for which
//     another one is to make room.
//   - A plan with a transition writes the status and nothing else; the reconcile that its watch event starts
//     does the rest.
//   - Every write goes through the one client.Client that the Reconciler was given, or through its event
//     recorder.
//   - Ownership is by UID. Nothing is adopted: objects are created by Create, and applied only with their UID
//     as a precondition.
//   - Nothing is written when nothing changed.
//
// The files, from the bottom up: kinds and errors; the owned-object cache, the job states and what the API
// server rejects; gather and explain; writer, objects, network, claims, pods, sync_status and apply; status;
// reconcile; and the wiring in caches, share, job_counts, handlers, watches and setup.
package controller
