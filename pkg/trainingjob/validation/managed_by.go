package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// maxManagedBy is the bound of the same field of batch/v1's Job (k8s.io/kubernetes
// pkg/apis/batch/validation, maxManagedByFieldLength).
const maxManagedBy = 63

// validateManagedBy checks the form of managedBy, and that MultiKueue gets only jobs of scheduler kueue.
func validateManagedBy(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	value := job.Spec.ManagedBy
	switch {
	case value == "":
		return nil
	case len(value) > maxManagedBy:
		return field.ErrorList{field.Invalid(path, value,
			fmt.Sprintf("must be at most %d characters long", maxManagedBy))}
	case len(validation.IsDomainPrefixedPath(path, value)) > 0:
		return field.ErrorList{field.Invalid(path, value, "not a domain-prefixed path such as "+
			"example.com/controller: remove managedBy, or set it to "+v1alpha1.ManagedByMultiKueue+
			" or to the name of the controller that runs the job")}
	}
	s := job.Spec.RunPolicy.SchedulingPolicy.Scheduler
	if value == v1alpha1.ManagedByMultiKueue && s != "" && s != v1alpha1.SchedulerKueue {
		return field.ErrorList{field.Invalid(path, value, "MultiKueue dispatches jobs of scheduler kueue only: "+
			"set spec.runPolicy.schedulingPolicy.scheduler to kueue, or remove managedBy")}
	}
	return nil
}
