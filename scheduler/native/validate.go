package native

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// attemptDigits is the room for the attempt's number in the group's name: an accepted job can restart 99,999
// times.
const attemptDigits = 5

// Validate implements scheduler.Backend. The package documentation lists what it refuses.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	var errs field.ErrorList
	if g.Queue != "" {
		errs = append(errs, field.Forbidden(field.NewPath(scheduler.PathQueue), fmt.Sprintf(
			"the native scheduler has no queues, so %q would mean nothing: remove the queue (also the "+
				"label kueue.x-k8s.io/queue-name "+
				"or the annotation scheduling.volcano.sh/queue-name) and use a ResourceQuota of the "+
				"namespace, or use scheduler volcano", g.Queue)))
	}
	if g.MinResourcesGiven {
		errs = append(errs, field.Forbidden(field.NewPath(scheduler.PathMinResources),
			"the native scheduler sums up the pods' own requests: remove minResources, or use scheduler "+
				"volcano"))
	}
	if g.NeedsRoleMinimums() {
		errs = append(errs, field.Invalid(field.NewPath(
			scheduler.PathMinAvailable,
		), g.MinAvailable, fmt.Sprintf(
			"the native scheduler counts ranks whatever their role and could start the gang without its "+
				"%s: set it to %d (all ranks), or use scheduler volcano",
			g.Roles[0].Name, g.Ranks())))
	}
	if most := validation.DNS1123LabelMaxLength - 1 - attemptDigits; len(g.Name) > most {
		errs = append(errs, field.TooLong(field.NewPath(scheduler.PathName), nil, most))
		errs[len(errs)-1].Detail += ": the group's name is the job's and the attempt's number; use a " +
			"shorter name"
	}
	return errs
}
