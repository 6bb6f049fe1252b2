package mlflow

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// TestStatus of a run in every phase, and of a job that is gone.
func TestStatus(t *testing.T) {
	end := noon.Add(time.Hour)
	later := end.Add(time.Hour)
	for name, tc := range map[string]struct {
		job    history.Job
		status string
		end    time.Time
	}{
		"new":        {history.Job{}, statusScheduled, time.Time{}},
		"queued":     {history.Job{Phase: v1alpha1.PhaseQueued}, statusScheduled, time.Time{}},
		"running":    {history.Job{Phase: v1alpha1.PhaseRunning}, statusRunning, time.Time{}},
		"suspended":  {history.Job{Phase: v1alpha1.PhaseSuspended}, statusScheduled, time.Time{}},
		"restarting": {history.Job{Phase: v1alpha1.PhaseRestarting}, statusScheduled, time.Time{}},
		"succeeded":  {history.Job{Phase: v1alpha1.PhaseSucceeded, Completed: &end}, statusFinished, end},
		"failed":     {history.Job{Phase: v1alpha1.PhaseFailed, Completed: &end}, statusFailed, end},
		"succeeded, deleted": {
			history.Job{Phase: v1alpha1.PhaseSucceeded, Completed: &end, Deleted: &later}, statusFinished, end,
		},
		"running, deleted":    {history.Job{Phase: v1alpha1.PhaseRunning, Deleted: &end}, statusKilled, end},
		"running, found gone": {history.Job{Phase: v1alpha1.PhaseRunning, DeletedBefore: &end}, statusKilled, end},
		"failed at once":      {history.Job{Phase: v1alpha1.PhaseFailed, Created: noon}, statusFailed, noon},
	} {
		if status, at := statusOf(&tc.job); status != tc.status || !at.Equal(tc.end) {
			t.Errorf("%s: %s at %s", name, status, at)
		}
	}
}

// TestCleanKey: MLflow takes letters, digits and some signs, and no path that leads elsewhere.
func TestCleanKey(t *testing.T) {
	for name, want := range map[string]string{
		"loss": "loss", "train/loss": "train/loss", "top-5 acc.": "top-5 acc.", "grad@norm": "grad_norm",
		"größe": "gr__e", "/loss": "_loss", "a//b": "a__b", "../loss": ".._loss", "a/../b": "a_.._b",
		"..": "", ".": "", "": "", strings.Repeat("a", 300): strings.Repeat("a", 250), "a/": "a_",
	} {
		if got := cleanKey(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestCut: between characters, within the limit.
func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "0123456789": "0123456789", "01234567890": "0123456…", "012345éé9": "012345…",
		"a\xffb": "a\uFFFDb",
	} {
		if got := cut(text, 10); got != want || len(got) > 10 {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestMeasurements: numbers in all spellings, the three values that JSON has no number for, and nothing else.
func TestMeasurements(t *testing.T) {
	got, refused := measurementsOf([]history.Sample{{
		Attempt: 1, Step: 7, Time: noon, Percent: new(int32(70)), Epoch: "2.5", Metrics: map[string]string{
			"a": "1e-3", "b": "NaN", "c": "-inf", "d": "1e999", "e": "high", "f": "", "g": " 5 ",
		},
	}, {Step: 8, Time: noon, Epoch: "3/10"}, {Step: 9, Metrics: map[string]string{"no time": "1"}}})
	at := noon.UnixMilli()
	want := []measurement{
		{"a", 0.001, at, 7}, {"b", "NaN", at, 7}, {"c", "-Infinity", at, 7}, {"d", "Infinity", at, 7},
		{"g", 5.0, at, 7}, {metricPercent, 70.0, at, 7}, {metricEpoch, 2.5, at, 7},
	}
	if diff := cmp.Diff(want, got); diff != "" || refused != 3 {
		t.Errorf("%d refused (-want +got):\n%s", refused, diff)
	}
}

// TestResumePoints: the last ones that fit.
func TestResumePoints(t *testing.T) {
	var attempts []history.Attempt
	for n := range int32(500) {
		attempts = append(attempts, history.Attempt{Number: n + 1, ResumedFrom: &v1alpha1.CheckpointPoint{
			URI: "pvc://claim/attempt/step", Step: int64(n),
		}})
	}
	got := resumePoints(attempts)
	if len(got) > maxTag || !strings.HasSuffix(got, "attempt 500: step 499, pvc://claim/attempt/step") ||
		strings.Contains(got, "attempt 1:") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	two := resumePoints([]history.Attempt{{Number: 1}, attempts[1], {Number: 3}, attempts[3]})
	want := "attempt 2: step 1, pvc://claim/attempt/step; attempt 4: step 3, pvc://claim/attempt/step"
	if two != want {
		t.Errorf("got %s", two)
	}
}
