package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

func withMLflow(j *v1alpha1.TrainingJob) {
	j.Status.MLflow = &v1alpha1.MLflowStatus{
		TrackingURI: "http://mlflow:5000", ExperimentName: "costs $(RANK)",
		RunID: "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
	}
}

// TestMLflowVariables: what a user sets wins, and the rest does not contradict it.
func TestMLflowVariables(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		own    []corev1.EnvVar
		edit   func(*v1alpha1.TrainingJob)
		want   string
	}{
		"all": {
			"what the status has", nil, withMLflow,
			"TRACKING_URI=http://mlflow:5000 EXPERIMENT_NAME=costs $$(RANK) RUN_ID=0a1b2c3d4e5f60718293a4b5c6d7e8f9",
		},
		"nothing": {
			"an attempt from before the configuration", nil, func(*v1alpha1.TrainingJob) {}, "",
		},
		"no run": {
			"it was not known in time", nil, func(j *v1alpha1.TrainingJob) {
				withMLflow(j)
				j.Status.MLflow.RunID = ""
			}, "TRACKING_URI=http://mlflow:5000 EXPERIMENT_NAME=costs $$(RANK)",
		},
		"a server of one's own": {
			"it knows neither the run nor the experiment",
			[]corev1.EnvVar{{Name: EnvMLflowTrackingURI, Value: "mine"}}, withMLflow, "TRACKING_URI=mine",
		},
		"an experiment of one's own": {
			"the run is none of it", []corev1.EnvVar{{Name: EnvMLflowExperimentName, Value: "mine"}}, withMLflow,
			"TRACKING_URI=http://mlflow:5000 EXPERIMENT_NAME=mine",
		},
		"an experiment by its number": {
			"clients refuse another one's name beside it",
			[]corev1.EnvVar{{Name: envMLflowExperimentID, Value: "7"}}, withMLflow,
			"TRACKING_URI=http://mlflow:5000 EXPERIMENT_ID=7",
		},
		"a run of one's own": {
			"it wins", []corev1.EnvVar{{Name: EnvMLflowRunID, Value: "mine"}}, withMLflow,
			"TRACKING_URI=http://mlflow:5000 EXPERIMENT_NAME=costs $$(RANK) RUN_ID=mine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobtest.New(2, tc.edit, func(j *v1alpha1.TrainingJob) { j.Spec.Env = tc.own })
			var got []string
			for _, e := range rendered(t, job, worker(0), 1).Spec.Containers[0].Env {
				if name, is := strings.CutPrefix(e.Name, "MLFLOW_"); is {
					got = append(got, name+"="+e.Value)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMLflowIsNotInTheGang: schedulers compare a gang across attempts.
func TestMLflowIsNotInTheGang(t *testing.T) {
	without, with := jobtest.New(2), jobtest.New(2, withMLflow)
	if diff := cmp.Diff(Gang(without, 1, false).Roles, Gang(with, 1, false).Roles); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}
