// Package contention answers one question: what does pkg/preemption say of the training jobs of a cluster? It
// makes a preemption.Snapshot of jobs, their pods and the state of the cluster, has it choose, and puts each
// choice into the words of a job's status. It knows no client and no clock, and it changes nothing.
//
//	jobs, pods, reports --+
//	                      +--> Snapshot --> preemption.Policy.Choose --> PreemptionStatus by job
//	nodes, free amounts --+
//
// As the broker it also carries the plans on that statuses hold already, and says who is to give way now and
// whose room is reserved. It remembers nothing: all that a plan is stands in the status of the job that it is
// for, so that every pass may be the first one of a process.
//
//	written plans --> preemption.Policy.Advance --> PreemptionStatus by job, orders to victims, reservations
//
//	job.go      what must be known of each job
//	running.go  a gang that runs: what it holds, since when, and what it has saved
//	waiting.go  a gang that lacks room: what it needs and on which nodes, and the quota that it waits for
//	choose.go   who is planned for in which order, and whose scheduler decides by itself
//	said.go     a choice as a status has it
//	class.go    what a priority class says of the room that its gangs are made, and make
//	broker.go   plans that are carried out, from one pass to the next
//	written.go  a plan as a status holds it
//	ahead.go    who saves ahead, since a gang waits that may soon take the place
//	gated.go    gangs whose scheduler decides by quotas, and is told whom to spare
//
// # Rules
//
//   - A victim is of the preemptor's own scheduler, and one that this scheduler may preempt for it.
//   - A gang that waits for a quota is planned for within what that has left, beside the nodes: only victims
//     that use the same quota help it. Where it is not known what the quota has left, nobody is named.
//   - No more than Considered gangs are looked at in one pass, so that its cost is bounded however many wait.
//   - A victim in another namespace than the preemptor has no name.
//   - Only a victim that is written down, as it is planned now, is to give way; a plan that has ended
//     reserves its room until that is written, too.
//   - A gang waits for the broker for no longer than its delay before a plan begins, and for that long after
//     it: then, and wherever nobody can be asked, its scheduler is to preempt for it.
package contention
