package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Variables that MLflow's clients read (mlflow/environment_variables.py, v3.4).
const (
	EnvMLflowTrackingURI    = "MLFLOW_TRACKING_URI"
	EnvMLflowExperimentName = "MLFLOW_EXPERIMENT_NAME"
	EnvMLflowRunID          = "MLFLOW_RUN_ID"

	envMLflowExperimentID = "MLFLOW_EXPERIMENT_ID"
)

// mlflowEnv returns the MLflow variables of a container, without those that contradict its own: a run belongs
// to its server and experiment, and clients refuse a name together with another experiment's ID. It changes
// the pod and not its role's template, which schedulers compare across attempts.
func mlflowEnv(job *v1alpha1.TrainingJob, own []corev1.EnvVar) []corev1.EnvVar {
	m := job.Status.MLflow
	sets := func(names ...string) bool {
		return slices.ContainsFunc(own, func(e corev1.EnvVar) bool { return slices.Contains(names, e.Name) })
	}
	if m == nil || sets(EnvMLflowTrackingURI) {
		return nil
	}
	env := []corev1.EnvVar{{Name: EnvMLflowTrackingURI, Value: literal(m.TrackingURI)}}
	if sets(EnvMLflowExperimentName, envMLflowExperimentID) {
		return env
	}
	env = append(env, corev1.EnvVar{Name: EnvMLflowExperimentName, Value: literal(m.ExperimentName)})
	if m.RunID != "" {
		env = append(env, corev1.EnvVar{Name: EnvMLflowRunID, Value: literal(m.RunID)})
	}
	return env
}
