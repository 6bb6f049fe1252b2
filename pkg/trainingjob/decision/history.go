package decision

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxTransitions bounds status.transitions.
const maxTransitions = 20

// record adds a transition to a job's history. If the history is full, it removes the oldest transition,
// except for the last run, its end, and the last suspension: the accounting of interruptions begins there.
func record(history []v1alpha1.Transition, t v1alpha1.Transition) []v1alpha1.Transition {
	history = append(history, t)
	for len(history) > maxTransitions {
		run := spec.LastEntry(history, v1alpha1.PhaseRunning)
		suspension := spec.LastEntry(history, v1alpha1.PhaseSuspended)
		oldest := 0
		for oldest == suspension || run >= 0 && (oldest == run || oldest == run+1) {
			oldest++
		}
		history = slices.Delete(history, oldest, oldest+1)
	}
	return history
}
