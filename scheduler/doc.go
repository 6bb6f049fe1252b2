// Package scheduler connects a training gang with the gang scheduler of a cluster. It expresses a gang in a
// scheduler's dialect and reads the scheduler's verdict. With the state of the cluster it also explains why a
// gang waits.
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
// In every dialect the same file has the same purpose: doc.go (sources, and what the dialect cannot do),
// backend.go (options and kinds), objects.go (the gang as API objects), join.go (pods as members),
// validate.go (what the dialect cannot express), messages.go (the meaning of the scheduler's messages),
// read.go (the verdict), explain.go (reasons to wait that only this scheduler has), wake.go (when the
// operator must wake it), preempt.go, or for quotas gate.go, spare.go and contest.go (which gangs it may
// preempt, and how the operator affects that), and sync_status.go (what the operator reports to it). A
// dialect leaves out files that it does not need.
//
// The package is a leaf. It and its dialects use no TrainingJob, client, context or clock. A dialect imports
// only this package of the module, and this package names no dialect in its code. schedulertest is the
// contract that each dialect must pass.
package scheduler
