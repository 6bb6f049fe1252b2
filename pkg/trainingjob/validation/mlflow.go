package validation

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// maxExperiment is what MLflow's databases hold of an experiment's name, in characters
// (mlflow/store/tracking/dbmodels/models.py, SqlExperiment).
const maxExperiment = 256

// mlflowRun is MLflow's own rule (mlflow/utils/validation.py, _RUN_ID_REGEX).
var mlflowRun = regexp.MustCompile("^[a-zA-Z0-9][a-zA-Z0-9_-]{0,255}$")

// validateMLflow checks the annotations that become variables of the ranks.
func validateMLflow(job *v1alpha1.TrainingJob) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata", "annotations")
	experiment := job.Annotations[v1alpha1.AnnotationMLflowExperiment]
	if utf8.RuneCountInString(experiment) > maxExperiment || !utf8.ValidString(experiment) ||
		!printable(experiment) {
		errs = append(errs, field.Invalid(path.Key(v1alpha1.AnnotationMLflowExperiment), field.OmitValueType{},
			"no name of an experiment: write at most 256 characters of UTF-8, and no control characters"))
	}
	run := job.Annotations[v1alpha1.AnnotationMLflowRunID]
	if run != "" && !mlflowRun.MatchString(run) {
		errs = append(errs, field.Invalid(path.Key(v1alpha1.AnnotationMLflowRunID), field.OmitValueType{},
			"no ID of a run: the server writes one of 32 hexadecimal digits, remove the annotation and it will; "+
				"an ID has at most 256 letters, digits, '_' and '-'"))
	}
	return errs
}

// printable reports whether a text has no control characters, no separators of lines, and nothing in the
// place of what was no UTF-8.
func printable(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return true
}
