package demo

import (
	"errors"
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// countersRight checks the counters in the jobs' statuses: a preemption is no failure.
func countersRight(h History) (string, error) {
	state := h.end()
	var wrong []string
	for _, name := range jobNames() {
		want := JobState{Attempt: 1}
		if name == second {
			want = JobState{Attempt: 2, Preemptions: 1}
		}
		got := state.Jobs[name]
		if got.Attempt != want.Attempt || got.Preemptions != want.Preemptions || got.Restarts != 0 {
			wrong = append(wrong,
				fmt.Sprintf("%s ended with attempt %d, preemptions %d, restarts %d; want %d, %d, 0",
					name, got.Attempt, got.Preemptions, got.Restarts, want.Attempt, want.Preemptions))
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return second + ": attempt 2, preemptions 1, restarts 0", nil
}

// allFinished checks that all jobs succeeded and hold no GPUs.
func allFinished(h History) (string, error) {
	state := h.end()
	var wrong []string
	for _, name := range jobNames() {
		if phase := state.Jobs[name].Phase; phase != v1alpha1.PhaseSucceeded {
			wrong = append(wrong, fmt.Sprintf("%s ended as %q", name, phase))
		}
		if held := state.GPUsInUse(func(p PodState) bool { return p.Job == name }); held > 0 {
			wrong = append(wrong, fmt.Sprintf("%s still holds %d GPUs", name, held))
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(wrong, "; "))
	}
	return fmt.Sprintf("%d Succeeded, %d of %d GPUs free", len(jobNames()), state.FreeGPUs(),
		state.TotalGPUs()), nil
}
