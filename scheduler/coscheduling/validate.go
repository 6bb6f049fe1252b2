package coscheduling

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Validate implements scheduler.Backend. The package documentation lists what it rejects.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	errs := scheduler.FlatDialect{
		Subject: "scheduler coscheduling", Quota: "an ElasticQuota",
		MinResources: "would neither preempt for the gang then nor try it again when GPUs become free",
	}.Validate(g)
	if g.Within != "" {
		errs = append(errs, field.Forbidden(field.NewPath(scheduler.PathTopology), fmt.Sprintf(
			"scheduler coscheduling cannot keep a gang within one %[1]s: use scheduler volcano, kueue or "+
				"native, mode Pack, or a nodeSelector %[1]s=VALUE", g.Within)))
	}
	return errs
}
