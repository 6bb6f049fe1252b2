package coscheduling

import "mlplatform.example.com/trainingjob-operator/scheduler"

var _ scheduler.Preemptor = Backend{}

// MayPreempt implements scheduler.Preemptor: kube-scheduler preempts any pod of a lower priority, in any
// namespace. Where ElasticQuotas exist, the plugin CapacityScheduling preempts fewer; which ones depends on
// what all namespaces use at that moment.
func (Backend) MayPreempt(_, _ scheduler.Contender) bool { return true }
