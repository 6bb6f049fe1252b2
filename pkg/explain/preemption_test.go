package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func withDryRun(p *v1alpha1.PreemptionStatus) *v1alpha1.TrainingJob {
	return job(func(j *v1alpha1.TrainingJob) {
		waiting(&v1alpha1.Blocker{Reason: v1alpha1.ReasonInsufficientResources})(j)
		j.Status.Scheduling.Preemption = p
	})
}

// TestPreemption: the dry run is shown as in the status. No loss differs from no victims.
func TestPreemption(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		status *v1alpha1.PreemptionStatus
		want   *Preemption
	}{
		"off": {"no dry run, nothing to show", nil, nil},
		"planned": {
			"the victims and their loss",
			&v1alpha1.PreemptionStatus{
				Outcome: v1alpha1.PreemptionPlanned, VictimCount: 70, LossGPUSeconds: 240, ObservedTime: &since,
				Victims: []v1alpha1.PreemptionVictim{
					{
						UID: "1", Attempt: 2, Name: "small", GPUs: 16, Mode: v1alpha1.PreemptionSave,
						EstimatedLossSeconds: 15, LossGPUSeconds: 240,
					},
					{UID: "2", Attempt: 1, GPUs: 8, Mode: v1alpha1.PreemptionEndsByItself},
				},
			},
			&Preemption{
				Outcome: "Planned", Meaning: outcomes["Planned"], VictimCount: 70, LossGPUSeconds: new(int64(240)),
				Observed: &since.Time,
				Victims: []Victim{
					{
						UID: "1", Attempt: 2, Name: "small", GPUs: 16, Mode: "Save",
						How: "the operator requests a checkpoint, then stops it", LossSeconds: 15, LossGPUSeconds: 240,
					},
					{UID: "2", Attempt: 1, GPUs: 8, Mode: "EndsByItself", How: "it is about to finish"},
				},
			},
		},
		"no victims": {
			"neither victims nor a loss",
			&v1alpha1.PreemptionStatus{Outcome: v1alpha1.PreemptionNoCover},
			&Preemption{Outcome: "NoCover", Meaning: outcomes["NoCover"]},
		},
		"new": {
			"an outcome of a later version has no meaning here",
			&v1alpha1.PreemptionStatus{Outcome: "Later"}, &Preemption{Outcome: "Later"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Of(withDryRun(tc.status), now).Preemption); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPreemptionInJSON: a loss of zero is written.
func TestPreemptionInJSON(t *testing.T) {
	data, err := json.Marshal(Of(withDryRun(&v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionPlanned, VictimCount: 1,
		Victims: []v1alpha1.PreemptionVictim{{Mode: v1alpha1.PreemptionEndsByItself}},
	}), now))
	if err != nil || !strings.Contains(string(data), `"victimCount":1,"lossGPUSeconds":0`) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestOutcomesAndModes: each of the API has a text.
func TestOutcomesAndModes(t *testing.T) {
	for _, outcome := range []v1alpha1.PreemptionOutcome{
		v1alpha1.PreemptionPlanned, v1alpha1.PreemptionFits, v1alpha1.PreemptionOnlyProtected,
		v1alpha1.PreemptionNoCover, v1alpha1.PreemptionBusy, v1alpha1.PreemptionPatience,
		v1alpha1.PreemptionNotPlanned,
	} {
		if outcomes[outcome] == "" {
			t.Errorf("%s has no meaning", outcome)
		}
	}
	for _, mode := range []v1alpha1.PreemptionMode{
		v1alpha1.PreemptionSave, v1alpha1.PreemptionNextCheckpoint, v1alpha1.PreemptionEndsByItself,
		v1alpha1.PreemptionKill,
	} {
		if modes[mode] == "" {
			t.Errorf("%s has no description", mode)
		}
	}
}
