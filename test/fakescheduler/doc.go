// Package fakescheduler is a gang scheduler for tests: a dialect (Backend) and the scheduler that
// implements it (Scheduler). It works through the API alone and needs only a kube-apiserver and etcd.
// It lists nodes, pods and groups, writes group statuses, binds pods through pods/binding, and preempts
// as real schedulers do: it sets the condition DisruptionTarget, then deletes the pod. Optionally it
// simulates the kubelet.
//
//	snapshot of nodes, pods, groups ──Decide──▶ statuses, binds, evictions     (pure: decide.go)
//	          ▲ gather.go                      │ apply.go
//	          └────────── API server ◀─────────┘
//
// A group passes through these phases:
//
//	(none) ──▶ Queued ──▶ Invited ──▶ Placed
//	           does not   fits, or    its minimum
//	           fit        can be made is bound
//	                      to fit
//
// A Queued group wants no pods; an Invited one reserves capacity until its pods exist. The status names
// the attempt that it describes, so that the status of an earlier attempt is never mistaken for an answer.
//
// Mutants are defects: a test suite must fail on a scheduler with one of them, or it would miss the same
// defect in an operator or on a cluster. Options are behavior that real schedulers show and that is
// correct: suites must pass with them.
//
// The only resource is nvidia.com/gpu. Queues are recorded and have no quota. Preemption considers
// priority classes alone.
package fakescheduler
