package simtrainer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal/trace"
)

// What the agents see of the simulated trainers of a rehearsal.

const (
	// leastCutOff is the shortest save that an agent meets.
	leastCutOff = 100 * time.Millisecond
	// cutOffTries of an agent that meets none.
	cutOffTries = 5
	// outsidePath is where a trainer with the fault Outside saves, and outsideBytes the size of its file.
	outsidePath, outsideBytes = "/workspace/ckpt/last.pt", 1_200_000_000
)

// evidenceOf an attempt of a rehearsal and the one before, from its trainer and those of earlier attempts.
func evidenceOf(t Trainer, earlier []Trainer, now time.Time, worldSize int32, left checkpoint.TracedVolume,
) []checkpoint.Evidence {
	var traces []checkpoint.Trace
	for _, e := range earlier {
		if e.Config.Attempt < t.Config.Attempt {
			traces = append(traces, tracesOf(e, e.Since, worldSize)...)
		}
	}
	own := tracesOf(t, now, worldSize)
	own[0].After = &left
	return trace.Latest(append(traces, own...), t.Config.Attempt)
}

// hasEvaluated reports whether an evaluation of this attempt has begun.
func (t Trainer) hasEvaluated(step int64) bool {
	return slices.ContainsFunc(t.Config.Spec.Pauses[:], func(p Pause) bool {
		return p.Phase == checkpoint.PhaseEvaluating && t.startStep() < p.Step && p.Step <= step
	})
}

// tracesOf the ranks of one attempt, at a time to which the trainer was advanced.
func tracesOf(t Trainer, now time.Time, worldSize int32) []checkpoint.Trace {
	fault := t.Config.Spec.Fault
	step := t.stepAt(now)
	all := make([]checkpoint.Trace, worldSize)
	for rank := range all {
		all[rank] = checkpoint.Trace{
			Attempt: t.Config.Attempt, Rank: int32(rank),
			Loaded:      t.startStep() > 0 && t.Config.Other == "" && t.Phase != checkpoint.PhaseStarting,
			LoadedOther: t.Config.Other,
			Wrote:       rank == 0 && t.Saves > 0 && fault != Outside,
		}
		if t.Phase != checkpoint.PhaseStarting && fault != Silent {
			all[rank].Weights = fmt.Sprintf("weights-%d", t.startStep())
		}
	}
	first := &all[0]
	first.Saves, first.SaveMilliseconds = t.Saves, t.Config.Spec.Save.Milliseconds()
	switch {
	case fault == Outside && t.Saves > 0:
		first.OutsidePath, first.OutsideBytes = outsidePath, outsideBytes
		fallthrough
	case t.Saves == 0 || fault == Outside:
		first.Saves, first.SaveMilliseconds = 0, 0
	}
	if t.CutOff > 0 && t.Exit != nil {
		first.CutOffPath, first.CutOffTries = pathOf(t.Config, t.CutOff), 1
		first.CutOffMilliseconds = t.cutOffAfter().Milliseconds()
	} else if t.CutsOff && t.Exit != nil {
		first.CutOffTries = cutOffTries
	}
	if t.Exit != nil && !t.Exit.Unheard {
		first.ExitCode, first.Requested = &t.Exit.Code, !t.RequestedAt.IsZero()
	}
	first.Before = &t.Config.Before
	if fault != Silent {
		first.Phase, first.Evaluated = t.Phase, t.hasEvaluated(step)
		t.addSteps(first, step)
	}
	return all
}

// addSteps adds the steps up to the last one, if there is any, to the trace of rank 0.
func (t Trainer) addSteps(to *checkpoint.Trace, last int64) {
	if last == t.startStep() {
		return
	}
	from, lastReported := t.reported(t.startStep()+1), t.reported(last)
	to.FirstStep, to.LastStep = &from, &lastReported
	each := time.Duration(float64(time.Second) / t.rate())
	to.StartMilliseconds = max(1, (t.Config.Spec.Start + each).Milliseconds())
	to.StepMilliseconds = max(1, each.Milliseconds())
	const half = checkpoint.MaxTracedSteps / 2
	for step := t.startStep() + 1; step <= last; step++ {
		if step == t.startStep()+1+half && last-half >= step {
			step = last - half + 1
		}
		to.Steps = append(to.Steps, checkpoint.TracedStep{
			Step: t.reported(step), Loss: t.loss(step), Batch: t.batch(step),
		})
	}
}

// reported is what the trainer calls a step.
func (t Trainer) reported(step int64) int64 {
	if t.Config.Spec.Fault == WrongStep {
		return 100 * step
	}
	return step
}

// loss depends on the step alone, so that two attempts report the same loss for the same step, unless the
// trainer loses a part of its state.
func (t Trainer) loss(step int64) string {
	loss := 0.1 + 4*math.Exp(-4*float64(step)/float64(t.Config.Spec.Steps))
	switch fault := t.Config.Spec.Fault; {
	case t.startStep() == 0:
	case fault == OneShard:
		loss *= 1.45
	case fault == LostRandom:
		loss *= 1.01
	}
	return strconv.FormatFloat(loss, 'f', 4, 64)
}

// batch identifies the samples of a step.
func (t Trainer) batch(step int64) string {
	switch {
	case t.Config.Spec.Unnamed:
		return ""
	case t.Config.Spec.Fault == LostRandom:
		step -= t.startStep()
	}
	return fmt.Sprintf("batch-%d", step)
}

// cutOffSave is the agent's part of CommandKillInSave: it requests a checkpoint, and kills the trainer while
// the trainer writes it. It kills a trainer that saves too fast after its save.
func (t Trainer) cutOffSave(commandID string, now time.Time) (Trainer, []SaveEvent) {
	if t.CutsOff {
		return t, nil
	}
	t.CutsOff = true
	if t.Phase == checkpoint.PhaseSaving {
		t.CutOff = t.cutOffStep()
	}
	return t.Obey(checkpoint.Command{Command: checkpoint.CommandCheckpoint, ID: commandID}, now)
}

// cutOffStep is the step whose save is cut off; 0: it is too short.
func (t Trainer) cutOffStep() int64 {
	if t.CutsOff && t.Config.Spec.Save >= leastCutOff {
		return t.Step
	}
	return 0
}

// cutOffAfter is how long a save takes until it is cut off.
func (t Trainer) cutOffAfter() time.Duration { return min(t.Config.Spec.Save/2, time.Second) }

// resumeOlder makes a trainer with the fault Older resume from the newest complete checkpoint before its
// resume point, if there is one.
func (c Config) resumeOlder(complete []Checkpoint, at Location) Config {
	older := slices.DeleteFunc(slices.Clone(complete), func(p Checkpoint) bool { return p.Step >= c.Resume })
	if c.Spec.Fault != Older || c.Resume == 0 || len(older) == 0 {
		return c
	}
	from := slices.MaxFunc(older, func(a, b Checkpoint) int { return cmp.Compare(a.Step, b.Step) })
	c.Other, c.OtherStep = at.uri(from.Path), from.Step
	return c
}
