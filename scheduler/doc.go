// Package scheduler is the seam between a training gang and the gang scheduler of a cluster. It answers two
// questions: how is a gang expressed in a scheduler's dialect, and what does that scheduler say about it?
// From the answers and the state of the cluster it also explains why a gang waits.
//
//	TrainingJob ──▶ Gang ──Backend.Objects──▶ what the scheduler reads
//	                Verdict ◀──Backend.Read── what the scheduler wrote
//
// Each dialect is a package of its own:
//
//	volcano       a PodGroup of scheduling.volcano.sh
//	kueue         a Workload of kueue.x-k8s.io, with native or coscheduling as an optional binder
//	coscheduling  a PodGroup of scheduling.x-k8s.io, by scheduler-plugins
//	native        a PodGroup of scheduling.k8s.io, by kube-scheduler itself
//
// In every dialect the same file has the same job: doc.go (what was read, and what the dialect cannot do),
// backend.go (options and kinds), objects.go (the gang as API objects), join.go (pods as members),
// validate.go (what the dialect cannot express), messages.go (what the scheduler's words mean), read.go (the
// verdict), explain.go (reasons to wait that only this scheduler has), rest.go (when it must be woken),
// preempt.go, or for quotas gate.go, spare.go and contest.go (whom it may end, and what can be done about
// that), and sync_status.go (what the scheduler must be told). A dialect leaves out the files that it does
// not need.
//
// The package is a leaf. It and its dialects know no TrainingJob, no client, no context and no clock, and a
// dialect imports nothing of this module but this package, which names no dialect in its code. schedulertest
// is the contract that each dialect must pass.
package scheduler
