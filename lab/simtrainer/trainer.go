package simtrainer

import (
	"math"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Script is everything that a trainer's course follows from, beside the time and what it is told.
type Script struct {
	Spec Spec `json:"spec"`
	// Attempt of the gang, from 1.
	Attempt int32 `json:"attempt"`
	// Resume is the step of the checkpoint that it is told to resume from; 0: it starts anew.
	Resume int64 `json:"resume,omitempty"`
	// Every so often it saves; 0: never, for it has no place to save to.
	Every time.Duration `json:"every,omitempty"`
}

// Trainer is what a trainer has done and what it does. It is a value: what changes it returns another. Between two events it is
// not touched, so that an idle hour costs nothing, and a simulator that was started anew goes on from what it finds.
type Trainer struct {
	Script Script `json:"script"`
	// Phase since Since, and the last step that was trained then.
	Phase checkpoint.Phase `json:"phase"`
	Since time.Time        `json:"since"`
	Step  int64            `json:"step"`
	// Waits for a rank that is not there: no step is trained.
	Waits bool `json:"waits,omitempty"`
	// Saved is the step of its last save, and SaveDue when the next begins.
	Saved   int64     `json:"saved,omitempty"`
	SaveDue time.Time `json:"saveDue,omitzero"`
	// Tore: the save that its Spec wants torn was made.
	Tore bool `json:"tore,omitempty"`
	// Asked is the command that the save under way carries out, CommandID the last one that was carried out.
	Asked     string `json:"asked,omitempty"`
	CommandID string `json:"commandID,omitempty"`
	// Leaves: it exits when the save under way is done.
	Leaves bool `json:"leaves,omitempty"`
	// KillAt is the end of its grace after SIGTERM.
	KillAt time.Time `json:"killAt,omitzero"`
	// Frozen is when its node died: nothing goes on until that is alive again.
	Frozen time.Time `json:"frozen,omitzero"`
	Exit   *Exit     `json:"exit,omitempty"`
}

// Exit is how a trainer has ended.
type Exit struct {
	At     time.Time             `json:"at"`
	Code   int32                 `json:"code"`
	Reason checkpoint.ExitReason `json:"reason"`
	Signal string                `json:"signal,omitempty"`
	// Unheard: the agent was killed with the trainer, so nobody says how it ended.
	Unheard bool `json:"unheard,omitempty"`
	// Log is the end of what it wrote to stderr.
	Log string `json:"log,omitempty"`
}

// Saving is news of a save. A save that has begun and is not done is torn, as half a checkpoint on a volume is.
type Saving struct {
	Step int64
	// Complete at At, after Took; else it begins then.
	Complete bool
	At       time.Time
	Took     time.Duration
}

// Start is a trainer that starts.
func Start(s Script, at time.Time) Trainer {
	t := Trainer{Script: s, Phase: checkpoint.PhaseStarting, Since: at, Step: s.Resume}
	if s.Spec.IgnoreResume {
		t.Step = 0
	}
	t.Saved = t.Step
	return t
}

// first is the step that the trainer began after.
func (t Trainer) first() int64 {
	if t.Script.Spec.IgnoreResume {
		return 0
	}
	return t.Script.Resume
}

// Tell the trainer, at a time that it was advanced to, to carry out a command. One that it has carried out, or carries out, is nothing
// new.
func (t Trainer) Tell(c checkpoint.Command, now time.Time) (Trainer, []Saving) {
	if t.Exit != nil || c.ID == t.CommandID || c.ID == t.Asked {
		return t, nil
	}
	return t.saveFor(c.ID, c.Command == checkpoint.CommandCheckpointAndExit, now)
}

// saveFor somebody who asked: the save under way will do, since no step is trained meanwhile; none is needed where nothing is new.
func (t Trainer) saveFor(id string, leave bool, now time.Time) (Trainer, []Saving) {
	t.Leaves = t.Leaves || leave
	if t.Phase == checkpoint.PhaseSaving {
		t.Asked = id
		return t, nil
	}
	if step := t.stepAt(now); t.Script.Every > 0 && step > t.Saved {
		var news *Saving
		t.Asked = id
		t, news = t.save(now)
		return t, []Saving{*news}
	}
	if id != "" {
		t.CommandID = id
	}
	if t.Leaves {
		t.Step = t.stepAt(now)
		t.Exit = t.leave(now)
	}
	return t, nil
}

// Follow says, at a time that the trainer was advanced to, how it behaves from now on: its annotation has changed. every is as in Script.
func (t Trainer) Follow(s Spec, every time.Duration, now time.Time) Trainer {
	if t.Exit != nil || s == t.Script.Spec && every == t.Script.Every {
		return t
	}
	if t.Phase == checkpoint.PhaseTraining {
		t.Step, t.Since, t.SaveDue = t.stepAt(now), now, now.Add(every)
	}
	t.Script.Spec, t.Script.Every = s, every
	return t
}

// Terminate sends SIGTERM at a time that the trainer was advanced to. It is killed when its grace is over. A second one changes nothing.
func (t Trainer) Terminate(now time.Time, grace time.Duration) (Trainer, []Saving) {
	if t.Exit != nil || !t.KillAt.IsZero() {
		return t, nil
	}
	t.KillAt = now.Add(grace)
	switch t.Script.Spec.OnSIGTERM {
	case Ignore:
		return t, nil
	case Die:
		t.Step = t.stepAt(now)
		t.Exit = &Exit{At: now, Code: 128 + 15, Reason: checkpoint.ExitSignaled, Signal: "SIGTERM"}
		return t, nil
	}
	return t.saveFor(t.Asked, true, now)
}

// Wait says, at a time that the trainer was advanced to, whether a rank is missing that it cannot train without. A save goes on.
func (t Trainer) Wait(waits bool, now time.Time) Trainer {
	if t.Exit != nil || waits == t.Waits {
		return t
	}
	if t.Phase == checkpoint.PhaseTraining {
		t.Step, t.Since = t.stepAt(now), now
	}
	if t.Phase == checkpoint.PhaseStarting && !waits {
		t.Since = now // the ranks meet when the last one is there
	}
	t.Waits = waits
	return t
}

// Freeze stops a trainer whose node has died, at a time that it was advanced to.
func (t Trainer) Freeze(now time.Time) Trainer {
	if t.Exit == nil && t.Frozen.IsZero() {
		t.Frozen = now
	}
	return t
}

// Thaw lets it go on as if no time had passed.
func (t Trainer) Thaw(now time.Time) Trainer {
	if t.Frozen.IsZero() {
		return t
	}
	by := now.Sub(t.Frozen)
	t.Frozen = time.Time{}
	for _, at := range []*time.Time{&t.Since, &t.SaveDue, &t.KillAt} {
		if !at.IsZero() {
			*at = at.Add(by)
		}
	}
	return t
}

// Status is what the trainer says of itself at a time that it was advanced to, and the first step that it named; nil: none yet.
func (t Trainer) Status(now time.Time) (s checkpoint.Status, first *int64) {
	s = checkpoint.Status{
		Step: t.stepAt(now), TotalSteps: t.Script.Spec.Steps, Phase: t.Phase, StepSeconds: 1 / t.Script.Spec.Rate, CommandID: t.CommandID,
	}
	if s.Step > t.first() {
		n := t.first() + 1
		first = &n
		s.Metrics = map[string]checkpoint.Metric{"loss": checkpoint.Metric(t.loss(s.Step))}
	}
	return s, first
}

// loss depends on the step alone, so that who compares two attempts sees the same.
func (t Trainer) loss(step int64) string {
	return strconv.FormatFloat(0.1+4*math.Exp(-4*float64(step)/float64(t.Script.Spec.Steps)), 'f', 4, 64)
}
