package main

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// view is what the agent knows, shared by those who look, those who report and the last word.
type view struct {
	mu        sync.Mutex
	status    *checkpoint.Status
	firstStep *int64
	commit    *checkpoint.Save
	layout    checkpoint.Layout
	passed    []checkpoint.Passed
	delivered string
	problems  map[string]string
	// news is signalled when something must be reported at once: a commit, another phase.
	news chan struct{}
}

func newView() *view {
	return &view{problems: map[string]string{}, news: make(chan struct{}, 1)}
}

func (v *view) tell() {
	select {
	case v.news <- struct{}{}:
	default: // it is already signalled
	}
}

// problem sets or, with an empty text, clears what is wrong with one thing. It reports whether that is new.
func (v *view) problem(about, text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.problems[about] == text {
		return false
	}
	if text == "" {
		delete(v.problems, about)
	} else {
		v.problems[about] = text
	}
	return text != ""
}

func (v *view) problemText() string { // with mu held
	var all []string
	for _, about := range slices.Sorted(maps.Keys(v.problems)) {
		all = append(all, about+": "+v.problems[about])
	}
	return checkpoint.Printable(strings.Join(all, "; "), 512)
}

// report is what is sent now.
func (v *view) report(attempt int32) checkpoint.Report {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := checkpoint.Report{
		Attempt: attempt, Phase: checkpoint.PhaseStarting, FirstStep: v.firstStep, Checkpoint: v.commit, Layout: v.layout,
		DeliveredID: v.delivered, PassedOver: v.passed, Problem: v.problemText(),
	}
	if s := v.status; s != nil {
		r.Phase, r.Step, r.TotalSteps, r.Epoch, r.TotalEpochs = s.Phase, s.Step, s.TotalSteps, s.Epoch, s.TotalEpochs
		r.StepSeconds, r.Metrics, r.CommandID = s.StepSeconds, s.Metrics, s.CommandID
		if r.Phase == "" {
			r.Phase = checkpoint.PhaseTraining
		}
	}
	return r
}
