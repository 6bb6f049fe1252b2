package demo

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Each act ends with the step that it waits for, not earlier.
func TestActsEndInOrder(t *testing.T) {
	ends := []string{"first starts", "second waits", "second starts", "second trains", "urgent starts",
		"second starts again", "second ends"}
	acts := Story(false)
	if len(acts) != len(ends) {
		t.Fatalf("%d acts, %d ends", len(acts), len(ends))
	}
	tp := newHistoryBuilder()
	now := 0
	for _, s := range steps() {
		if now < len(acts) && acts[now].Over(tp.state) {
			t.Errorf("act %q is over before %q", acts[now].Title, ends[now])
		}
		s.play(tp)
		if now < len(acts) && s.name == ends[now] {
			if !acts[now].Over(tp.state) {
				t.Errorf("act %q is not over after %q", acts[now].Title, s.name)
			}
			now++
		}
	}
	if now != len(acts) {
		t.Errorf("%d of %d acts were over in the end", now, len(acts))
	}
}

// An act must not wait for a state that can no longer arise.
func TestActsEndWhenTheStoryHasGoneWrong(t *testing.T) {
	failed := func(job, after string) *ClusterState {
		w := upTo(after)
		j := w.Jobs[job]
		j.Phase = v1alpha1.PhaseFailed
		w.Jobs[job] = j
		return w
	}
	tests := map[string]struct {
		act    int
		state  *ClusterState
		reason string
	}{
		"first failed":            {0, failed(first, "urgent starts"), "it will not run any more"},
		"second ran unjudged":     {1, upTo("second starts"), "it will not be judged any more"},
		"second failed":           {2, failed(second, "urgent starts"), "it will not run any more"},
		"second saved nothing":    {3, failed(second, "second starts"), "it will not save any more"},
		"urgent failed":           {4, failed(urgent, "urgent starts"), "it will not run any more"},
		"second failed, not lost": {4, failed(second, "urgent starts"), "it will not come back"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if !Story(false)[test.act].Over(test.state) {
				t.Errorf("the act continues, but %s", test.reason)
			}
		})
	}
}

func TestFigures(t *testing.T) {
	got := measure(storyHistory(nil))
	want := []attempt{{first, 1}, {second, 1}, {urgent, 1}, {second, 2}}
	if len(got) != len(want) {
		t.Fatalf("figures of %d attempts, want %d: %+v", len(got), len(want), got)
	}
	for i, f := range got {
		if (attempt{f.Job, f.Attempt}) != want[i] {
			t.Errorf("figure %d is of %s attempt %d, want %s", i, f.Job, f.Attempt, want[i])
		}
		if f.Preempted != (want[i] == victim()) {
			t.Errorf("%s: preempted is %v", want[i], f.Preempted)
		}
		if f.ToBound <= 0 || f.FitToBound <= 0 || f.FitToBound > f.ToBound || f.Ran <= 0 {
			t.Errorf("%s: %+v", want[i], f)
		}
	}
	// second was queued long before GPUs were free, first found free GPUs when it was queued.
	if got[0].ToBound != got[0].FitToBound || got[1].ToBound <= got[1].FitToBound {
		t.Errorf("time in the queue and time since GPUs were free: %+v", got)
	}
}
