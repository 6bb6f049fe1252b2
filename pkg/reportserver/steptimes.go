package reportserver

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// maxStepTimes of a job are kept: 24 bytes each, so at most 8 MB for all jobs.
const maxStepTimes = 16

// stepTimes are the last steps that rank 0 has reported in its current start, each with when the operator
// received it. They are immutable: add returns others.
type stepTimes struct {
	attempt int32
	start   string
	steps   forecast.Steps
}

// add a report at a time of the operator's clock. Reports of a former start or without a new step change
// nothing but the total.
func (s stepTimes) add(r *checkpoint.Report, now time.Time) stepTimes {
	if r.FirstStep == nil { // the trainer has reported no step
		return s
	}
	next := stepTimes{attempt: r.Attempt, start: r.Start, steps: forecast.Steps{Raised: s.steps.Raised}}
	if s.attempt == r.Attempt && s.start == r.Start {
		next.steps.Times = slices.Clone(s.steps.Times)
	}
	if before := s.steps.Total; before > 0 && r.TotalSteps > before {
		next.steps.Raised += float64(r.TotalSteps-before) / float64(before)
	}
	next.steps.Total, next.steps.Claim = r.TotalSteps, r.StepSeconds
	times := next.steps.Times
	if n := len(times); n == 0 || r.Step > times[n-1].Step {
		times = append(times, forecast.StepTime{Step: r.Step, At: now})
	}
	next.steps.Times = times[max(0, len(times)-maxStepTimes):]
	return next
}

// Steps returns the steps of a job's rank 0 in its newest attempt, by the operator's clock. It returns false
// if rank 0 has reported no step to this leader.
func (s *Store) Steps(job types.UID) (attempt int32, steps forecast.Steps, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.jobs.Get(job); ok {
		if t := e.(*entry).stepTimes; len(t.steps.Times) > 0 {
			return t.attempt, t.steps, true
		}
	}
	return 0, forecast.Steps{}, false
}
