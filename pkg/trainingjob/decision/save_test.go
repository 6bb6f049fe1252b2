package decision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestAnswer: the answer has the command of the status, and only while the gang drains.
func TestAnswer(t *testing.T) {
	deadline := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 40, 0, time.UTC))
	drain := &v1alpha1.DrainStatus{CommandID: "drain-3", Deadline: &deadline}
	none := checkpoint.Answer{Command: checkpoint.CommandNone, Attempt: 3, MinIntervalSeconds: 10}
	asked := checkpoint.Answer{
		Command: checkpoint.CommandCheckpointAndExit, ID: "drain-3", Deadline: &deadline.Time,
		Attempt: 3, MinIntervalSeconds: 10,
	}
	ahead := func(attempt int32, latest int64) v1alpha1.TrainingJobStatus {
		return v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseRunning, Checkpoint: &v1alpha1.CheckpointStatus{
			Ahead:  &v1alpha1.SaveAheadStatus{Attempt: attempt, CommandID: "ahead-3-1", AfterStep: 200},
			Latest: &v1alpha1.CheckpointPoint{Step: latest},
		}}
	}
	saveAndGoOn := checkpoint.Answer{
		Command: checkpoint.CommandCheckpoint, ID: "ahead-3-1", Attempt: 3, MinIntervalSeconds: 10,
	}
	drained := ahead(3, 200)
	drained.Phase, drained.Drain = v1alpha1.PhaseDraining, drain
	for name, c := range map[string]struct {
		status v1alpha1.TrainingJobStatus
		want   checkpoint.Answer
	}{
		"asked to save and to train on":      {ahead(3, 200), saveAndGoOn},
		"has saved since":                    {ahead(3, 201), none},
		"the attempt before was asked":       {ahead(2, 200), none},
		"asked to go before it has answered": {drained, asked},
		"running":                            {v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseRunning}, none},
		"asked": {
			v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseDraining, Drain: drain}, asked,
		},
		"ended without being asked": {
			v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseDraining, Drain: &v1alpha1.DrainStatus{}}, none,
		},
		"a drain that is over": {v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued, Drain: drain}, none},
	} {
		c.status.Attempt = 3
		got := Answer(&v1alpha1.TrainingJob{Status: c.status})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if data, err := checkpoint.Encode(got); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if _, err := checkpoint.ParseAnswer(data); err != nil {
			t.Errorf("%s: an agent refuses it: %v", name, err)
		}
	}
}
