package coscheduling

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Validate implements scheduler.Backend. The package documentation lists what it rejects.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	return scheduler.FlatDialect{
		Subject: "scheduler coscheduling", Quota: "an ElasticQuota",
		MinResources: "would neither preempt for the gang then nor try it again when GPUs become free",
	}.Validate(g)
}
