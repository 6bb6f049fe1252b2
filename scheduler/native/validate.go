package native

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Validate implements scheduler.Backend. The package documentation lists what it rejects.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	return scheduler.FlatDialect{
		Subject: "the native scheduler", Quota: "a ResourceQuota",
		MinResources: "adds up the pods' own requests",
	}.Validate(g)
}
