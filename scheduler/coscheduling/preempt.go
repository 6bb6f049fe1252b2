package coscheduling

import "mlplatform.example.com/trainingjob-operator/scheduler"

var _ scheduler.WaitingClasses = Backend{}

// MayPreempt implements scheduler.Preemptor: kube-scheduler ends whoever has a lower priority, in whatever
// namespace. Where ElasticQuotas exist, the plugin CapacityScheduling ends fewer: whom depends on what all
// namespaces use at that moment.
func (Backend) MayPreempt(_, _ scheduler.Contender) bool { return true }

// UsesWaitingClass implements scheduler.WaitingClasses. The policy Never of a pod keeps the plugins that
// preempt from doing so for it (capacityscheduling/capacity_scheduling.go, PodEligibleToPreemptOthers; so
// does kube-scheduler's DefaultPreemption), and gangs are ordered by their pods' priority
// (coscheduling/coscheduling.go, Less), which is that of the waiting class, too.
func (Backend) UsesWaitingClass() bool { return true }
