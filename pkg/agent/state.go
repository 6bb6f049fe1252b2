package agent

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// state is what the agent knows of the trainer. The observer writes it; the reports and the termination
// message are made from it.
type state struct {
	// start identifies this start of the trainer, where it may start again inside its attempt; else empty.
	start string

	mu     sync.Mutex
	status *checkpoint.Status
	// kubeflow is what the trainer has reported by Kubeflow's protocol; nil before its first report, and once it
	// has written a status file. status is then its status.
	kubeflow *kubeflowHistory
	// hasFile: the trainer has written a valid status file.
	hasFile bool
	// stopping: the trainer was asked to stop. ended: it has ended.
	stopping, ended bool
	// firstStep that the trainer reported after it had started to train.
	firstStep  *int64
	commit     *checkpoint.Save
	layout     checkpoint.Layout
	passedOver []checkpoint.Passed
	// confirmed is the newest commit that the operator acknowledged while this attempt was the job's.
	confirmed *checkpoint.Save
	// deliveredID of the last command that was handed to the trainer.
	deliveredID string
	// takenID of the last command that the agent carries out itself.
	takenID string
	// retain is how many checkpoints the operator's last answer leaves on the volume, 0 for all; nil: no answer
	// had a number.
	retain   *int
	problems map[string]string
	// news is signalled when something must be reported at once: a commit, another phase.
	news chan struct{}
}

func newState() *state {
	return &state{problems: map[string]string{}, news: make(chan struct{}, 1)}
}

// newStart returns an identifier that no other start has.
func newStart() string { return strings.ToLower(rand.Text()) }

// takeKubeflow takes over a message of Kubeflow's protocol, unless there is a status file.
func (s *state) takeKubeflow(m kubeflowMessage, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasFile {
		return
	}
	var before kubeflowHistory
	if s.kubeflow != nil {
		before = *s.kubeflow
	}
	next := before.next(m, now, s.stopping)
	s.kubeflow, s.status = &next, &next.status
	if s.firstStep == nil && next.hasStep {
		step := next.status.Step
		s.firstStep = &step
	}
	if next.status.Phase != before.status.Phase {
		s.signalNews()
	}
}

// kubeflowStatus is what the trainer has reported by Kubeflow's protocol, if it has named a step; else nil.
func (s *state) kubeflowStatus() *checkpoint.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kubeflow == nil || !s.kubeflow.hasStep {
		return nil
	}
	return s.status
}

// setStopping records that the trainer is asked to stop, before it is.
func (s *state) setStopping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
}

func (s *state) setEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
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

// confirm remembers the commit of a report that was answered, if the answer is for the job's attempt.
func (s *state) confirm(r checkpoint.Report, a *checkpoint.Answer) {
	save := r.Checkpoint
	if a.Attempt != r.Attempt || save == nil || save.State != checkpoint.SaveCommitted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confirmed == nil || s.confirmed.Step < save.Step {
		s.confirmed = save
	}
}

// setRetain takes over how many checkpoints are left on the volume.
func (s *state) setRetain(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retain = &n
}

// retainLast is how many checkpoints are left on the volume, 0 for all: the operator's number, else the one
// at the start.
func (s *state) retainLast(atStart int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retain != nil {
		return *s.retain
	}
	return atStart
}

// commits are the newest commit, by its URI, and the step of the newest one that is confirmed.
type commits struct {
	uri         string
	isConfirmed bool
	confirmed   int64
	// keepLast is how many are left of them.
	keepLast int
	// settled counts the saves that have settled.
	settled int
}

func (c commits) confirmedStep() *int64 {
	if !c.isConfirmed {
		return nil
	}
	return &c.confirmed
}

func (s *state) commits() commits {
	s.mu.Lock()
	defer s.mu.Unlock()
	var c commits
	if s.commit != nil {
		c.uri = s.commit.URI
	}
	if s.confirmed != nil {
		c.isConfirmed, c.confirmed = true, s.confirmed.Step
	}
	return c
}

// report returns the report to send now.
func (s *state) report(attempt int32) checkpoint.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := checkpoint.Report{
		Attempt: attempt, Start: s.start, Phase: checkpoint.PhaseStarting, FirstStep: s.firstStep,
		Checkpoint:  s.commit,
		Layout:      s.layout,
		DeliveredID: s.deliveredID, PassedOver: s.passedOver, Problem: s.problemText(),
	}
	if st := s.status; st != nil {
		r.Phase, r.Step, r.TotalSteps = st.Phase.Reported(), st.Step, st.TotalSteps
		r.Epoch, r.TotalEpochs = st.Epoch, st.TotalEpochs
		r.StepSeconds, r.Metrics, r.CommandID = st.StepSeconds, st.Metrics, st.CommandID
		if r.Phase == "" {
			r.Phase = checkpoint.PhaseTraining
		}
	}
	if s.kubeflow != nil {
		r.Source = checkpoint.SourceKubeflow
		// The program may train again until it ends.
		if r.Phase == checkpoint.PhaseCompleted && !s.ended {
			r.Phase = checkpoint.PhaseTraining
		}
	}
	return r
}
