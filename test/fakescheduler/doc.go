// Package fakescheduler is a gang scheduler for tests: a dialect of its own (Backend) and the scheduler that reads it (Scheduler).
// It works through the API alone, on a bare kube-apiserver with etcd: it lists nodes, pods and groups, writes the groups'
// status, binds pods by pods/binding, and preempts by the condition DisruptionTarget and a deletion, as real schedulers
// do. If asked, it plays the kubelet too.
//
//	snapshot of nodes, pods, groups ──Decide──▶ statuses, binds, evictions     (pure: decide.go)
//	          ▲ gather.go                              │ apply.go
//	          └──────────────── API server ◀───────────┘
//
// A group passes through
//
//	(none) ──▶ Queued ──▶ Invited ──▶ Placed
//	             no room    room, or    its minimum is bound
//	                        can be made
//
// A Queued group wants no pods, an Invited one holds room until they come. The status says which attempt it is about, so
// that nothing left by an earlier one can be taken for an answer.
//
// Mutants are defects: a suite that runs on a scheduler with one of them must fail, or it would not notice the same defect
// in an operator or on a cluster. Options are habits that real schedulers have and are free to have: suites must pass.
//
// The only resource is nvidia.com/gpu; queues are recorded and have no quota; preemption goes by priority class alone.
package fakescheduler
