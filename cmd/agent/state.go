package main

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// state is what the agent knows of the trainer. The observer writes it; the reports and the termination
// message are made from it.
type state struct {
	mu     sync.Mutex
	status *checkpoint.Status
	// firstStep that the trainer reported after it had started to train.
	firstStep  *int64
	commit     *checkpoint.Save
	layout     checkpoint.Layout
	passedOver []checkpoint.Passed
	// deliveredID of the last command that was handed to the trainer.
	deliveredID string
	problems    map[string]string
	// news is signalled when something must be reported at once: a commit, another phase.
	news chan struct{}
}

func newState() *state {
	return &state{problems: map[string]string{}, news: make(chan struct{}, 1)}
}

func (s *state) signalNews() {
	select {
	case s.news <- struct{}{}:
	default: // a signal is pending
	}
}

// setProblem sets the problem with a subject, or clears it with an empty text. It reports whether the
// problem is new.
func (s *state) setProblem(subject, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problems[subject] == text {
		return false
	}
	if text == "" {
		delete(s.problems, subject)
	} else {
		s.problems[subject] = text
	}
	return text != ""
}

// problemText needs mu held.
func (s *state) problemText() string {
	var all []string
	for _, subject := range slices.Sorted(maps.Keys(s.problems)) {
		all = append(all, subject+": "+s.problems[subject])
	}
	return checkpoint.Printable(strings.Join(all, "; "), 512)
}

// report returns the report to send now.
func (s *state) report(attempt int32) checkpoint.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := checkpoint.Report{
		Attempt: attempt, Phase: checkpoint.PhaseStarting, FirstStep: s.firstStep, Checkpoint: s.commit,
		Layout:      s.layout,
		DeliveredID: s.deliveredID, PassedOver: s.passedOver, Problem: s.problemText(),
	}
	if st := s.status; st != nil {
		r.Phase, r.Step, r.TotalSteps = st.Phase, st.Step, st.TotalSteps
		r.Epoch, r.TotalEpochs = st.Epoch, st.TotalEpochs
		r.StepSeconds, r.Metrics, r.CommandID = st.StepSeconds, st.Metrics, st.CommandID
		if r.Phase == "" {
			r.Phase = checkpoint.PhaseTraining
		}
	}
	return r
}
