// Package trainingjob is the pure core of the operator. It answers one question: given what is known of a job (its spec and
// status, its pods, what its scheduler says, the time), what is to be done next, and what may be said of it?
//
// It knows the API and the scheduler seam; it may not know a client, a context or the wall clock. Decide is a function from
// a Snapshot to a Plan; pkg/controller gathers the one and carries out the other.
//
//	Snapshot ──observe──▶ ranks ──machine──▶ a transition: status alone is written, effects follow in the next pass
//	                                └─none──▶ act: group, Service, deletions, creations; refresh: counts and blocker
//
// A plan that is carried out in part, twice or not at all leads to the same end, because every pass starts from what is
// there. The invariants (each has a test that tries to break it, see random_test.go):
//
//  1. No pod is created under Hold, nor for an attempt that is not persisted.
//  2. Ranks of two attempts never run together: nothing is created until every pod of another attempt is gone.
//  3. A gang below minAvailable never stays: it completes or gives everything back.
//  4. A disruption never spends backoffLimit, a failure spends one however often it is seen: the cause is settled when the
//     last pod has ended, in the write that raises the attempt, and a disruption outranks exit codes.
//  5. Succeeded and Failed absorb; finished and suspended jobs hold nothing.
//  6. Nothing is written when nothing changed.
//
// # Transitions
//
// The first row whose phase and condition match is taken. "new" is a job without a phase. This table is rendered from the
// machine by a test.
//
//	(all but final)
//	    → Failed     when the spec is invalid, or says what its scheduler cannot
//	(all but final)
//	    → Failed     when activeDeadlineSeconds have passed since startTime
//	new, Pending
//	    → Suspended  when suspend is true
//	new
//	    → Pending    when the cluster does not serve what the scheduler needs, or no agent is configured for a job with checkpoints
//	new, Pending
//	    → Queued     when a scheduler is there
//	Queued, Starting, Running
//	    → Succeeded  when the leader, or else every Worker, exited 0
//	Queued, Starting, Running
//	    → Draining   when a rank was lost to a disruption (scope Rank: fewer than minAvailable are left)
//	Queued, Starting, Running
//	    → Draining   when a rank failed by itself (scope Rank: and its policy ends the gang)
//	Queued, Starting, Running
//	    → Draining   when containers were restarted more often than backoffLimit (scope Rank)
//	Queued, Starting, Running
//	    → Draining   when the scheduler asks for the places of the gang's pods back
//	Queued
//	    → Suspended  when suspend is true and there is no pod
//	Queued, Starting, Running
//	    → Draining   when suspend is true
//	Queued, Starting, Running
//	    → Draining   when the spec is not the one the attempt was made from (a resize)
//	Queued, Starting, Running
//	    → Draining   when the restart annotation has a new value
//	Queued, Starting
//	    → Running    when at least minAvailable ranks run
//	Queued
//	    → Starting   when at least minAvailable ranks are placed, for 5 s
//	Queued
//	    → Draining   when scheduleTimeoutSeconds have passed in the queue
//	Draining
//	    → Draining   when it drains for a failure, and a disruption proves to be the cause
//	Draining
//	    → Succeeded  when every pod has ended, none by its own failure, and rank 0 said that every step is trained and exited 0
//	Draining
//	    → Draining   when every pod has ended, and rank 0 has not said what it saved: its volume is searched
//	Draining
//	    → Draining   when searching the volume has failed, and not for the last time
//	Draining
//	    → Suspended  when every pod has ended, cause Suspend
//	Draining
//	    → Failed     when every pod has ended, the failure is permanent or backoffLimit is spent
//	Draining
//	    → Restarting when every pod has ended, and the cause asks for a backoff
//	Draining
//	    → Queued     when every pod has ended, and the gang may return at once
//	Restarting
//	    → Suspended  when suspend is true
//	Restarting
//	    → Queued     when the backoff is over
//	Suspended
//	    → Queued     when suspend is no longer true and a scheduler is there
package trainingjob
