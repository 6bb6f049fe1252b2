package spec

import (
	"cmp"
	"regexp"
	"unicode"
	"unicode/utf8"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// maxExperiment is the longest name of an experiment in MLflow's databases, in characters
// (mlflow/store/tracking/dbmodels/models.py, SqlExperiment).
const maxExperiment = 256

// mlflowRun is MLflow's own rule (mlflow/utils/validation.py, _RUN_ID_REGEX).
var mlflowRun = regexp.MustCompile("^[a-zA-Z0-9][a-zA-Z0-9_-]{0,255}$")

// MLflowExperiment returns the name of the experiment of a job's run, from the job's annotations.
func MLflowExperiment(annotations map[string]string, namespace string) string {
	return cmp.Or(annotations[v1alpha1.AnnotationMLflowExperiment], namespace)
}

// IsMLflowExperiment reports whether a text can name an experiment: at most 256 characters of UTF-8 without
// control characters, without separators of lines, and with nothing in the place of what was no UTF-8.
func IsMLflowExperiment(name string) bool {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxExperiment {
		return false
	}
	for _, r := range name {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return false
		}
	}
	return true
}

// IsMLflowRun reports whether a text can be the ID of a run.
func IsMLflowRun(id string) bool { return mlflowRun.MatchString(id) }
