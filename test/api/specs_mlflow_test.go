package api_test

import (
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// mlflowSpecs are jobs whose annotations become variables of the ranks.
func mlflowSpecs() map[string]spec {
	const field = "metadata.annotations."
	annotated := func(reason, key, value, says string) spec {
		s := spec{reason: reason, says: says, edit: func(j *v1alpha1.TrainingJob) {
			j.Annotations = map[string]string{key: value}
		}}
		if says != "" {
			s.fields = []string{field + key}
		}
		return s
	}
	experiment := func(reason, value, says string) spec {
		return annotated(reason, v1alpha1.AnnotationMLflowExperiment, value, says)
	}
	run := func(reason, value, says string) spec {
		return annotated(reason, v1alpha1.AnnotationMLflowRunID, value, says)
	}
	return map[string]spec{
		"an experiment in any script": experiment("it is text", "実験 1/2", ""),
		"no experiment":               experiment("it is the namespace's", "", ""),
		"the longest experiment":      experiment("characters count", strings.Repeat("é", 256), ""),
		"a longer experiment": experiment("no database holds it", strings.Repeat("é", 257),
			"256 characters"),
		"an experiment of two lines": experiment("it is shown in terminals", "a\nb", "no control characters"),
		"an experiment that was no UTF-8": experiment("the API server has replaced what it was", "caf\ufffd",
			"characters of UTF-8"),
		"a run of the server's": run("it is what the server writes", strings.Repeat("0a", 16), ""),
		"a run of another make": run("it is what MLflow takes", "mighty_plum-7", ""),
		"the longest run":       run("it is what MLflow takes", strings.Repeat("a", 256), ""),
		"a longer run":          run("no server knows it", strings.Repeat("a", 257), "no ID of a run"),
		"a run that is a path":  run("it becomes part of one", "../1", "no ID of a run"),
	}
}
