package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateMLflow checks the annotations that become variables of the ranks.
func validateMLflow(job *v1alpha1.TrainingJob) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "annotations")
	if !spec.IsMLflowExperiment(job.Annotations[v1alpha1.AnnotationMLflowExperiment]) {
		errs = append(errs, field.Invalid(path.Key(v1alpha1.AnnotationMLflowExperiment), field.OmitValueType{},
			"no name of an experiment: write at most 256 characters of UTF-8, and no control characters"))
	}
	if run := job.Annotations[v1alpha1.AnnotationMLflowRunID]; run != "" && !spec.IsMLflowRun(run) {
		errs = append(errs, field.Invalid(path.Key(v1alpha1.AnnotationMLflowRunID), field.OmitValueType{},
			"no ID of a run: the server writes one of 32 hexadecimal digits, remove the annotation and it will; "+
				"an ID has at most 256 letters, digits, '_' and '-'"))
	}
	return errs
}
