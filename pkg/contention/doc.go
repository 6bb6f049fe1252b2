// Package contention applies pkg/preemption to the training jobs of a cluster. It makes a preemption.Snapshot
// of jobs, their pods and the state of the cluster, calls Choose, and returns each choice as the preemption
// status of a job. It uses no client and no clock, and it changes nothing.
//
//	jobs, pods, reports --+
//	                      +--> Snapshot --> preemption.Policy.Choose --> PreemptionStatus by job
//	nodes, free amounts --+
//
// As the broker it also advances the plans in the statuses, and returns which victims must yield now and
// whose capacity is reserved. It keeps no state: the status of the preemptor's job holds the plan, so a
// restarted process continues with it.
//
//	written plans --> preemption.Policy.Advance --> PreemptionStatus by job, orders to victims, reservations
//
//	job.go      the data of each job
//	running.go  a running gang: what it holds, since when, and what it has saved
//	waiting.go  a gang that lacks capacity: what it needs, on which nodes, and the quota that it waits for
//	choose.go   the order in which gangs are planned for
//	plan_status.go a choice as a status
//	class.go    the annotations of a priority class
//	broker.go   plans that the operator carries out, from one pass to the next
//	written.go  plans in statuses
//	ahead.go    early saves of likely victims
//	lanes.go    waiting gangs by scheduler, for pkg/reservation
//	reserve.go  capacity that is kept for large gangs, and which gangs it holds
//	reserve_status.go reservations and passes in statuses
//	gated.go    gangs whose scheduler preempts by quotas and gets marks for gangs to spare
//
// # Rules
//
//   - A victim has the preemptor's scheduler, and this scheduler may preempt it for the preemptor.
//   - A gang that waits for a quota also gets a plan only within that quota: only victims that use the same
//     quota help it. If the free amount of the quota is unknown, there is no plan.
//   - One pass examines at most Considered gangs, which bounds its cost.
//   - A victim in another namespace than the preemptor has no name in the status.
//   - A victim yields only after its entry, as planned now, has been written. A plan that has ended reserves
//     its capacity until the end has been written, too.
//   - A gang waits for the broker at most its delay before a plan begins, and as long after it. Then, and if
//     there are no victims, its scheduler preempts for it.
package contention
