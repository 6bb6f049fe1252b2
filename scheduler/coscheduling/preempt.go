package coscheduling

import "mlplatform.example.com/trainingjob-operator/scheduler"

var _ scheduler.Preemptor = Backend{}

// MayPreempt implements scheduler.Preemptor: kube-scheduler ends whoever has a lower priority, in whatever
// namespace. Where ElasticQuotas exist, the plugin CapacityScheduling ends fewer: whom depends on what all
// namespaces use at that moment.
func (Backend) MayPreempt(_, _ scheduler.Contender) bool { return true }
