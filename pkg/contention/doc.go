// Package contention answers one question: what does pkg/preemption say of the training jobs of a cluster? It
// makes a preemption.Snapshot of jobs, their pods and the state of the cluster, has it choose, and puts each
// choice into the words of a job's status. It knows no client and no clock, and it changes nothing.
//
//	jobs, pods, reports --+
//	                      +--> Snapshot --> preemption.Policy.Choose --> PreemptionStatus by job
//	nodes, free amounts --+
//
//	job.go      what must be known of each job
//	running.go  a gang that runs: what it holds, since when, and what it has saved
//	waiting.go  a gang that lacks room: what it needs and on which nodes, and the quota that it waits for
//	choose.go   who is planned for in which order, and whose scheduler decides by itself
//	said.go     a choice as a status has it
//
// # Rules
//
//   - A victim is of the preemptor's own scheduler, and one that this scheduler may preempt for it.
//   - A gang that waits for a quota is planned for within what that has left, beside the nodes: only victims
//     that use the same quota help it. Where it is not known what the quota has left, nobody is named.
//   - No more than Considered gangs are looked at in one pass, so that its cost is bounded however many wait.
//   - A victim in another namespace than the preemptor has no name.
package contention
