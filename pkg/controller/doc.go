// Package controller is the imperative shell around the pure core of pkg/trainingjob. It gathers what the
// core decides by, and carries out the plan.
//
//	informers -> memory.OwnedCache: the objects that exist, by owner UID, with our own writes
//	                 |           memory.JobStates: what one reconcile passes to the next
//	                 v                   v
//	planner.Planner: which gangs yield to others, every few seconds (off by default)
//	                 v
//	gatherer -> Snapshot -> trainingjob.Decide -> Plan -> write.Objects: group, network, deletes, creates
//	                                                   -> write.Statuses: status, once; events, metrics
//
// The packages below import only those to their left: memory, meter, backends, planner; write imports memory
// and meter. None of them knows what a phase means.
//
// Invariants:
//   - A reconcile reads caches only. The exceptions are what a write must know for certain (the job before
//     the first create of an attempt and before its gang is released, an object before it is applied or where
//     it holds a name), an object that the watch does not show for long, claims, and the job to which another
//     one yields.
//   - A plan with a transition writes the status and nothing else; the reconcile that its watch event starts
//     does the rest.
//   - Every write goes through the one client.Client of the Reconciler, or through its event recorder.
//   - Ownership is by UID. Objects are created by Create, and applied only with their UID as a precondition.
//   - Nothing is written when nothing changed.
package controller
