// Package trace records what a trainer reports in one attempt of a rehearsal, and compares attempts. It is
// pure: pkg/agent reads files and processes. It is apart from the judgement of a rehearsal, because the agent
// is a small binary without the types of Kubernetes.
package trace

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// stepTimes is how many step times the median is of.
const stepTimes = 32

// Look is what a trainer reports at a moment.
type Look struct {
	// Step that it has finished, in Phase.
	Step  int64
	Phase checkpoint.Phase
	// Loss and Batch of that step; empty: not reported.
	Loss, Batch string
	// Weights is the hash after loading; empty: not reported.
	Weights string
}

// LookAt returns what a status file reports.
func LookAt(s *checkpoint.Status) Look {
	return Look{Step: s.Step, Phase: s.Phase, Loss: lossOf(s.Metrics), Batch: s.Batch, Weights: s.Weights}
}

// lossOf returns the metric that is compared: "loss", else the first name with loss in it. Losses of the
// training come before those of evaluations. A scale of the loss is none.
func lossOf(metrics map[string]checkpoint.Metric) string {
	if loss, ok := metrics["loss"]; ok {
		return string(loss)
	}
	evaluates := func(name string) int {
		for _, word := range []string{"eval", "val", "test"} {
			if strings.Contains(name, word) {
				return 1
			}
		}
		return 0
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(metrics)), func(name string) bool {
		lower := strings.ToLower(name)
		return !strings.Contains(lower, "loss") || strings.Contains(lower, "scale")
	})
	if len(names) == 0 {
		return ""
	}
	return string(metrics[slices.MinFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(evaluates(a), evaluates(b)), cmp.Compare(a, b))
	})])
}

// Recorder makes the trace of one attempt of one rank. Its caller passes the time since the trainer's start.
type Recorder struct {
	// Trace so far. The caller adds what files and processes show.
	Trace checkpoint.Trace

	last   Look
	stepAt time.Duration
	// broken: the time since stepAt is not of steps alone.
	broken bool
	times  []time.Duration
}

// NewRecorder returns a recorder for a rank in an attempt.
func NewRecorder(attempt, rank int32) *Recorder {
	return &Recorder{Trace: checkpoint.Trace{Attempt: attempt, Rank: rank}}
}

// Add records a look, and returns whether it was news.
func (r *Recorder) Add(at time.Duration, l Look) bool {
	isFirst := r.Trace.FirstStep == nil
	if l.Weights != "" {
		r.Trace.Weights = l.Weights
	}
	if !isFirst && l == r.last {
		return false
	}
	r.Trace.Phase = l.Phase
	r.Trace.Evaluated = r.Trace.Evaluated || l.Phase == checkpoint.PhaseEvaluating
	// While it starts the trainer has not loaded its resume point, so its step has no meaning.
	if isFirst && l.Phase == checkpoint.PhaseStarting {
		return l.Weights != ""
	}
	r.measure(at, l, isFirst)
	if isFirst {
		first := l.Step
		r.Trace.FirstStep = &first
		r.Trace.StartMilliseconds = max(at.Milliseconds(), 1)
	}
	if l.Step < r.last.Step { // the trainer starts again in its pod
		r.Trace.Steps = slices.DeleteFunc(r.Trace.Steps, func(s checkpoint.TracedStep) bool {
			return s.Step >= l.Step
		})
	}
	step := l.Step
	r.Trace.LastStep, r.last = &step, l
	r.keep(l)
	return true
}

// measure adds the time of a step. Steps during which the trainer saved or evaluated do not count.
func (r *Recorder) measure(at time.Duration, l Look, isFirst bool) {
	trains := l.Phase == "" || l.Phase == checkpoint.PhaseTraining
	if !isFirst && l.Step == r.last.Step {
		r.broken = r.broken || !trains
		return
	}
	if passed := l.Step - r.last.Step; !isFirst && passed > 0 && !r.broken {
		if r.times = append(r.times, (at-r.stepAt)/time.Duration(passed)); len(r.times) > stepTimes {
			r.times = slices.Delete(r.times, 0, 1)
		}
		median := slices.Sorted(slices.Values(r.times))[len(r.times)/2]
		r.Trace.StepMilliseconds = max(median.Milliseconds(), 1)
	}
	r.stepAt, r.broken = at, !trains
}

// keep adds the loss and the batch of a step, and forgets those in the middle of the attempt. The losses of
// an evaluation are not those of the step.
func (r *Recorder) keep(l Look) {
	if l.Phase == checkpoint.PhaseEvaluating || l.Phase == checkpoint.PhaseWaiting ||
		l.Phase == checkpoint.PhaseStarting {
		l.Loss = ""
	}
	if l.Loss == "" && l.Batch == "" {
		return
	}
	steps := r.Trace.Steps
	if n := len(steps); n > 0 && steps[n-1].Step == l.Step {
		steps[n-1].Loss = cmp.Or(steps[n-1].Loss, l.Loss)
		steps[n-1].Batch = cmp.Or(steps[n-1].Batch, l.Batch)
		return
	}
	steps = append(steps, checkpoint.TracedStep{Step: l.Step, Loss: l.Loss, Batch: l.Batch})
	if len(steps) > checkpoint.MaxTracedSteps {
		steps = slices.Delete(steps, checkpoint.MaxTracedSteps/2, checkpoint.MaxTracedSteps/2+1)
	}
	r.Trace.Steps = steps
}
