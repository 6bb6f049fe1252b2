package scheduler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// FlatDialect describes a scheduler whose groups have only a number of ranks, without roles, queues or
// resources. Every attempt has a group of its own.
type FlatDialect struct {
	// Subject is the scheduler as the subject of a sentence.
	Subject string
	// Quota is the kind by which an admin limits a namespace instead of a queue.
	Quota string
	// MinResources completes "<Subject> ...": what the scheduler does with minResources.
	MinResources string
}

// attemptDigits is the space for the attempt's number in the group's name: a job can restart 99,999 times.
const attemptDigits = 5

// Validate implements Backend.Validate for a flat dialect.
func (d FlatDialect) Validate(g Gang) field.ErrorList {
	var errs field.ErrorList
	if g.Queue != "" {
		errs = append(errs, field.Forbidden(field.NewPath(PathQueue), fmt.Sprintf(
			"%s has no queues, so %q would mean nothing: remove the queue (also the label "+
				"kueue.x-k8s.io/queue-name or the annotation scheduling.volcano.sh/queue-name) and use %s of the "+
				"namespace, or use scheduler volcano", d.Subject, g.Queue, d.Quota)))
	}
	if g.MinResourcesGiven {
		errs = append(errs, field.Forbidden(field.NewPath(PathMinResources),
			d.Subject+" "+d.MinResources+": remove minResources, or use scheduler volcano"))
	}
	if g.NeedsRoleMinimums() {
		errs = append(errs, field.Invalid(field.NewPath(PathMinAvailable), g.MinAvailable, fmt.Sprintf(
			"%s counts ranks of any role and could start the gang without its %s: set it to %d (all ranks), or "+
				"use scheduler volcano", d.Subject, g.Roles[0].Name, g.Ranks())))
	}
	if most := validation.DNS1123LabelMaxLength - 1 - attemptDigits; len(g.Name) > most {
		errs = append(errs, field.TooLong(field.NewPath(PathName), nil, most))
		errs[len(errs)-1].Detail += ": the group's name is the job's and the attempt's number; use a shorter name"
	}
	return errs
}
