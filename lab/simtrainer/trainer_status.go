package simtrainer

import (
	"math"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Status is what the trainer writes to its status file, at a time to which it was advanced, and the first
// step of this attempt; nil before it.
func (t Trainer) Status(now time.Time) (s checkpoint.Status, first *int64) {
	s = checkpoint.Status{
		Step: t.stepAt(now), TotalSteps: t.Config.Spec.Steps, Phase: t.Phase,
		StepSeconds: 1 / t.rate(), CommandID: t.CommandID,
	}
	if s.Step > t.startStep() {
		n := t.startStep() + 1
		first = &n
		s.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(t.loss(s.Step))}
	}
	return s, first
}

// loss depends on the step alone, so that two attempts report the same loss for the same step.
func (t Trainer) loss(step int64) string {
	return strconv.FormatFloat(0.1+4*math.Exp(-4*float64(step)/float64(t.Config.Spec.Steps)), 'f', 4, 64)
}
