package native

import "mlplatform.example.com/trainingjob-operator/scheduler"

var (
	_ scheduler.GangPreemptor  = Backend{}
	_ scheduler.Preemptor      = Backend{}
	_ scheduler.WaitingClasses = Backend{}
)

// PreemptsGangs implements scheduler.GangPreemptor: the disruption mode of the groups is All. kube-scheduler
// counts on being alone in this (framework/preemption/executor.go, prepareCandidateAsync): it deletes its
// last victim after all the others, by name. Were that rank gone by then, it would delete the rank of the
// next attempt, which bears the same name. And the gang that it made room for is woken by the end of a victim
// that held a node. It would miss that, and be tried again only after podMaxInUnschedulablePodsDuration, five
// minutes.
func (Backend) PreemptsGangs() bool { return true }

// MayPreempt implements scheduler.Preemptor: kube-scheduler ends whoever has a lower priority, in whatever
// namespace.
func (Backend) MayPreempt(_, _ scheduler.Contender) bool { return true }

// UsesWaitingClass implements scheduler.WaitingClasses. The policy Never of any pod keeps kube-scheduler from
// preempting for its gang, or that of the group where the gate PodGroupPreemptionPolicy is on
// (framework/preemption/types.go, resolvePreemptionPolicy): so the group and its pods have the waiting class,
// and the group its policy (see preemptionPolicy).
func (Backend) UsesWaitingClass() bool { return true }
