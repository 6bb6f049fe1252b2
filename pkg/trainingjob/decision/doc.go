// Package decision decides what the operator does for a job now. It has the table of transitions, what each
// transition writes, and the plans for a job that stays in its phase.
//
//	Observation ──Next──▶ a Transition: only the status is written; effects follow later
//	              └─none─▶ Act: group, Service, deletions, creations
//
// A transition sets phase, attempt, drain, times, revision, resume point, scheduling and history. Packages
// account and status write the other fields of the status: owners.go has the list.
//
// # Transitions
//
// The first row whose phase and condition match applies. "new" is a job without a phase.
// A test renders this list from the table:
//
//	new, Pending, Suspended
//	    → Failed     when the gang was never queued, and its spec is invalid or not supported by its
//	                      scheduler
//	new, Pending
//	    → Suspended  when suspend is true
//	new
//	    → Pending    when the cluster does not serve what the scheduler needs, or no agent is configured
//	                      for a job with checkpoints
//	new, Pending
//	    → Queued     when a scheduler is available
//	Queued, Starting, Running
//	    → Succeeded  when a rehearsal is over and has passed
//	Queued, Starting, Running
//	    → Failed     when a rehearsal is over and has failed, or is incomplete
//	Queued, Starting, Running
//	    → Succeeded  when the ranks that decide success (successPolicy) exited 0
//	Running
//	    → Failed     when the gang has run for activeDeadlineSeconds, over all attempts
//	Queued, Starting, Running
//	    → Draining   when a rank was lost to a disruption (scope Rank: fewer than minAvailable are left)
//	Queued, Starting, Running
//	    → Draining   when a rank failed by itself (scope Rank: and its policy ends the gang)
//	Queued, Starting, Running
//	    → Draining   when containers were restarted more often than backoffLimit (scope Rank)
//	Queued, Starting, Running
//	    → Draining   when the scheduler evicts the gang, and the gang has pods
//	Running
//	    → Draining   when mode Act: the gang has hung for a minute, and the limits of restarts for hangs
//	                      allow one
//	Starting, Running
//	    → Draining   when a persisted preemption plan names the gang as a victim
//	Queued
//	    → Suspended  when suspend is true and there is no pod
//	Queued, Starting, Running
//	    → Draining   when suspend is true
//	Queued, Starting, Running
//	    → Draining   when the spec is valid and differs from the one of the attempt (a resize)
//	Queued, Starting, Running
//	    → Draining   when the restart annotation has a new value and the spec is valid
//	Running
//	    → Draining   when a rehearsal has trained enough steps to end the attempt in the next way
//	Queued, Starting
//	    → Running    when at least minAvailable ranks run
//	Queued
//	    → Starting   when at least minAvailable ranks have been placed for 5 s (20 s in a burst)
//	Queued
//	    → Draining   when scheduleTimeoutSeconds have passed in the queue
//	Queued
//	    → Draining   when preemption for the gang falls back to the scheduler
//	Starting
//	    → Draining   when it has been starting for longer than the operator's start timeout
//	Draining
//	    → Succeeded  when every pod has ended, and the ranks that decide success exited 0 before the
//	                      operator stopped them
//	Draining
//	    → Draining   when the gang drains because of a failure, and a disruption caused that failure
//	Draining
//	    → Draining   when the gang drains because of a failure, and another rank failed earlier
//	Draining
//	    → Succeeded  when every pod has ended, no failure ended the gang, and rank 0 reported all steps
//	                      trained and exited 0
//	Draining
//	    → Draining   when every pod has ended, and a search of the volume must find the resume point
//	Draining
//	    → Draining   when the search of the volume has failed, and more tries are left
//	Draining
//	    → Succeeded  when a rehearsal is over and has passed
//	Draining
//	    → Failed     when a rehearsal is over and has failed, or is incomplete
//	Draining
//	    → Suspended  when every pod has ended, cause Suspend
//	Draining
//	    → Failed     when every pod has ended, the failure is permanent or backoffLimit is spent
//	Draining
//	    → Restarting when every pod has ended, and the cause requires a backoff
//	Draining
//	    → Queued     when every pod has ended, and the gang can be queued at once
//	Restarting
//	    → Suspended  when suspend is true
//	Restarting
//	    → Queued     when the backoff is over, a scheduler is available and the spec is valid
//	Suspended
//	    → Draining   when the job resumes, and spec.checkpoint.resumeFrom names a checkpoint to search for
//	Suspended
//	    → Queued     when suspend is no longer true, a scheduler is available and the spec is valid
package decision
