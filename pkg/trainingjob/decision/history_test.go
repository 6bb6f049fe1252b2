package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestHistoryKeepsTheLastRun: a job that gives its place up again and again must not forget that it ran, nor
// that it was suspended since.
func TestHistoryKeepsTheLastRun(t *testing.T) {
	const (
		queued     = v1alpha1.PhaseQueued
		running    = v1alpha1.PhaseRunning
		draining   = v1alpha1.PhaseDraining
		restarting = v1alpha1.PhaseRestarting
		suspended  = v1alpha1.PhaseSuspended
	)
	cases := map[string]struct {
		reason string
		past   []v1alpha1.Phase
		kept   []v1alpha1.Phase
	}{
		"a run": {
			"it and its end begin the interruption", []v1alpha1.Phase{queued, running, draining},
			[]v1alpha1.Phase{running, draining},
		},
		"two runs": {
			"the last one counts", []v1alpha1.Phase{running, draining, queued, running, draining},
			[]v1alpha1.Phase{running, draining},
		},
		"a suspension": {
			"it ends the interruption", []v1alpha1.Phase{running, draining, suspended},
			[]v1alpha1.Phase{running, draining, suspended},
		},
		"never ran": {"nothing of the past is missed", []v1alpha1.Phase{queued}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var history []v1alpha1.Transition
			enter := func(phase v1alpha1.Phase) {
				at := metav1.NewTime(time.Unix(int64(len(history)), 0))
				history = record(history, v1alpha1.Transition{Time: at, Phase: phase})
			}
			for _, phase := range c.past {
				enter(phase)
			}
			for range 3 * maxTransitions {
				enter(queued)
				enter(draining)
				enter(restarting)
			}
			if len(history) != maxTransitions || history[maxTransitions-1].Phase != restarting {
				t.Errorf("%d entries, the last is %s; want %d, Restarting", len(history),
					history[len(history)-1].Phase, maxTransitions)
			}
			for i, phase := range c.kept {
				if history[i].Phase != phase {
					t.Errorf("%s: entry %d is %s, want %s", c.reason, i, history[i].Phase, phase)
				}
			}
		})
	}
}
