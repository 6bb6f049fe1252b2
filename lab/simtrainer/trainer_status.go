package simtrainer

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Status is what the trainer writes to its status file, at a time to which it was advanced, and the first
// step of this attempt; nil before it.
func (t Trainer) Status(now time.Time) (s checkpoint.Status, first *int64) {
	if t.Config.Spec.Fault == Silent {
		return checkpoint.Status{Phase: checkpoint.PhaseStarting}, nil
	}
	step := t.stepAt(now)
	s = checkpoint.Status{
		Step: t.reported(step), TotalSteps: t.reported(t.Config.Spec.Steps), Phase: t.Phase,
		StepSeconds: 1 / t.rate(), CommandID: t.CommandID,
	}
	if step > t.startStep() {
		n := t.reported(t.startStep() + 1)
		first = &n
		s.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(t.loss(step))}
	}
	return s, first
}
