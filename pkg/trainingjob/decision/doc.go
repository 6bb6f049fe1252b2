// Package decision answers one question: what is to be done for a job now? It holds the table of transitions,
// what each transition writes, and what is planned while a job stays in its phase.
//
//	Observation ──Next──▶ a Transition: only the status is written; effects follow later
//	              └─none─▶ Act: group, Service, deletions, creations
//
// A transition decides phase, attempt, drain, times, revision, resume point, how the gang is submitted, and
// history. Packages account and status write the other fields of the status: owners.go has the list.
//
// # Transitions
//
// The first row whose phase and condition match is taken. "new" is a job without a phase.
// A test renders this list from the table:
//
//	new, Pending, Suspended
//	    → Failed     when the gang was never queued, and its spec is invalid or says what its scheduler
//	                      cannot
//	new, Pending
//	    → Suspended  when suspend is true
//	new
//	    → Pending    when the cluster does not serve what the scheduler needs, or no agent is configured
//	                      for a job with checkpoints
//	new, Pending
//	    → Queued     when a scheduler is there
//	Queued, Starting, Running
//	    → Succeeded  when the ranks that decide it (successPolicy) exited 0
//	Running
//	    → Failed     when the gang has run for activeDeadlineSeconds, over all attempts
//	Queued, Starting, Running
//	    → Draining   when a rank was lost to a disruption (scope Rank: fewer than minAvailable are left)
//	Queued, Starting, Running
//	    → Draining   when a rank failed by itself (scope Rank: and its policy ends the gang)
//	Queued, Starting, Running
//	    → Draining   when containers were restarted more often than backoffLimit (scope Rank)
//	Queued, Starting, Running
//	    → Draining   when the scheduler asks for the places of the gang's pods back
//	Starting, Running
//	    → Draining   when it is to make room for a gang of a higher priority, by a plan that is written
//	                      down
//	Queued
//	    → Suspended  when suspend is true and there is no pod
//	Queued, Starting, Running
//	    → Draining   when suspend is true
//	Queued, Starting, Running
//	    → Draining   when the spec is valid and not the one the attempt was made from (a resize)
//	Queued, Starting, Running
//	    → Draining   when the restart annotation has a new value and the spec is valid
//	Queued, Starting
//	    → Running    when at least minAvailable ranks run
//	Queued
//	    → Starting   when at least minAvailable ranks are placed, for 5 s (20 s in a burst)
//	Queued
//	    → Draining   when scheduleTimeoutSeconds have passed in the queue
//	Queued
//	    → Draining   when others have not made room for it, and the scheduler is to preempt for it
//	Starting
//	    → Draining   when it has been starting for longer than the operator's start timeout
//	Draining
//	    → Succeeded  when every pod has ended, and the ranks that decide it (successPolicy) exited 0
//	                      before anybody told them to
//	Draining
//	    → Draining   when it drains for a failure, and a disruption proves to be the cause
//	Draining
//	    → Draining   when it drains for a failure, and another rank proves to have failed before it
//	Draining
//	    → Succeeded  when every pod has ended, none by its own failure, and rank 0 said that every step is
//	                      trained and exited 0
//	Draining
//	    → Draining   when every pod has ended, and a search of the volume must find the resume point
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
//	    → Queued     when the backoff is over, a scheduler is there and the spec is valid
//	Suspended
//	    → Draining   when the job resumes, and spec.checkpoint.resumeFrom names a checkpoint to search for
//	Suspended
//	    → Queued     when suspend is no longer true, a scheduler is there and the spec is valid
package decision
