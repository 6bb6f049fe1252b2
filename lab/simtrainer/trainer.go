package simtrainer

import (
	"math"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Config is everything that determines a trainer's behavior, apart from the time and its inputs.
type Config struct {
	Spec Spec `json:"spec"`
	// Attempt of the gang, from 1.
	Attempt int32 `json:"attempt"`
	// Resume is the step of the checkpoint to resume from; 0 is a fresh start.
	Resume int64 `json:"resume,omitempty"`
	// Every is the interval between two saves; 0: it never saves, because it has nowhere to save to.
	Every time.Duration `json:"every,omitempty"`
	// Rehearsal: its agent records what it sees.
	Rehearsal bool `json:"rehearsal,omitempty"`
	// Other is the path of the checkpoint that it resumes from instead, and OtherStep its step (see Older).
	Other     string `json:"other,omitempty"`
	OtherStep int64  `json:"otherStep,omitempty"`
	// Before is the volume at its start, in a rehearsal.
	Before checkpoint.TracedVolume `json:"before,omitzero"`
}

// Trainer is the state of a simulated trainer. It is a value: whatever changes it returns another one.
// Between two events nothing touches it, so an idle hour costs nothing, and a restarted simulator continues
// from what it finds stored.
type Trainer struct {
	Config Config `json:"script"`
	// Phase since Since, and the last step that was finished then.
	Phase checkpoint.Phase `json:"phase"`
	Since time.Time        `json:"since"`
	Step  int64            `json:"step"`
	// Waiting for a missing rank: no step is trained.
	Waiting bool `json:"waits,omitempty"`
	// PauseEnd is when the current pause ends (see Spec.Pauses); zero: there is none.
	PauseEnd time.Time `json:"pauseEnd,omitzero"`
	// Saved is the step of its last save, SaveDue when the next one begins.
	Saved   int64     `json:"saved,omitempty"`
	SaveDue time.Time `json:"saveDue,omitzero"`
	// TornDone: the save that Spec.TornAt asks for has happened.
	TornDone bool `json:"tore,omitempty"`
	// PendingID is the command that the current save carries out, CommandID the last one that was carried
	// out.
	PendingID string `json:"asked,omitempty"`
	CommandID string `json:"commandID,omitempty"`
	// ExitAfterSave: it exits when the current save is done.
	ExitAfterSave bool `json:"leaves,omitempty"`
	// Deferred is what it does after an evaluation (see Deaf).
	Deferred deferred `json:"deferred,omitzero"`
	// Saves that became complete in this attempt.
	Saves int32 `json:"saves,omitempty"`
	// CutsOff: its agent kills it in the next save. CutOff is the step of that save, if it is under way or done.
	CutsOff bool  `json:"cutsOff,omitempty"`
	CutOff  int64 `json:"cutOff,omitempty"`
	// RequestedAt is when it got the request to save and exit; zero: not, or later than its grace before
	// SIGTERM.
	RequestedAt time.Time `json:"requestedAt,omitzero"`
	// KillAt is the end of its grace period after SIGTERM.
	KillAt time.Time `json:"killAt,omitzero"`
	// Frozen is when its node died. Nothing happens until the node is back.
	Frozen time.Time `json:"frozen,omitzero"`
	// Exit is how it ended; nil while it runs.
	Exit *Exit `json:"exit,omitempty"`
}

// Exit is how a trainer has ended.
type Exit struct {
	At     time.Time             `json:"at"`
	Code   int32                 `json:"code"`
	Reason checkpoint.ExitReason `json:"reason"`
	Signal string                `json:"signal,omitempty"`
	// Unheard: the agent was killed together with the trainer, so there is neither a last report nor a
	// termination message.
	Unheard bool `json:"unheard,omitempty"`
	// Log is the end of its stderr.
	Log string `json:"log,omitempty"`
}

// SaveEvent is the beginning or the end of a save. A save that has begun and not ended is torn, like half a
// checkpoint on a volume.
type SaveEvent struct {
	Step int64
	// Complete: the save ended at At, after Took. Otherwise it began at At.
	Complete bool
	At       time.Time
	Took     time.Duration
	// Damaged: it only looks complete.
	Damaged bool
}

// deferred is what a trainer was asked for.
type deferred struct {
	Set       bool   `json:"set"`
	CommandID string `json:"commandID,omitempty"`
	Exit      bool   `json:"exit,omitempty"`
}

// NewTrainer is a trainer that starts at a time.
func NewTrainer(c Config, at time.Time) Trainer {
	t := Trainer{Config: c, Phase: checkpoint.PhaseStarting, Since: at}
	t.Step = t.startStep()
	t.Saved = t.Step
	return t
}

// startStep is the step that the attempt continued from: its first step is the next one.
func (t Trainer) startStep() int64 {
	switch {
	case t.Config.Spec.IgnoreResume:
		return 0
	case t.Config.Other != "":
		return t.Config.OtherStep
	}
	return t.Config.Resume
}

// stallsAfter is the last step before the trainer stalls; 0: it does not stall.
func (t Trainer) stallsAfter() int64 {
	s := t.Config.Spec
	if s.StallAfter == 0 || s.StallAttempts > 0 && t.Config.Attempt > s.StallAttempts {
		return 0
	}
	return t.startStep() + s.StallAfter
}

// hasStalled reports whether it finishes no more steps, although no rank is missing.
func (t Trainer) hasStalled() bool {
	stall := t.stallsAfter()
	return stall > 0 && t.Step >= stall && t.Phase == checkpoint.PhaseTraining
}

// rate in steps per second.
func (t Trainer) rate() float64 {
	if t.Config.Spec.SlowRank.Set {
		return t.Config.Spec.Rate / 2
	}
	return t.Config.Spec.Rate
}

// nextPause is the next one on the way; its step is 0 if there is none.
func (t Trainer) nextPause() Pause {
	for _, p := range t.Config.Spec.Pauses {
		if p.Step > t.Step {
			return p
		}
	}
	return Pause{}
}

// stepAt is the last finished step at a time before the next event.
func (t Trainer) stepAt(now time.Time) int64 {
	if t.Phase != checkpoint.PhaseTraining || t.Waiting || t.Exit != nil || !t.PauseEnd.IsZero() {
		return t.Step
	}
	if !t.Frozen.IsZero() {
		now = t.Frozen
	}
	const rounding = 1e-6 // of a step: times are rounded to nanoseconds
	trained := int64(math.Floor(now.Sub(t.Since).Seconds()*t.rate() + rounding))
	last := t.Config.Spec.Steps
	if stall := t.stallsAfter(); stall > 0 {
		last = min(last, stall)
	}
	if p := t.nextPause(); p.Step > 0 {
		last = min(last, p.Step)
	}
	return min(t.Step+max(trained, 0), max(last, t.Step))
}

// beginSave begins a save.
func (t Trainer) beginSave(at time.Time) (Trainer, *SaveEvent) {
	t.Step, t.PauseEnd = t.stepAt(at), time.Time{} // a save ends a pause
	t.Phase, t.Since = checkpoint.PhaseSaving, at
	t.CutOff = t.cutOffStep()
	return t, &SaveEvent{Step: t.Step, At: at}
}

// exitOnRequest is how the trainer ends when it was asked to and has saved.
func (t Trainer) exitOnRequest(at time.Time) *Exit {
	switch on := t.Config.Spec.OnSIGTERM; {
	case on == SaveUnheard:
		return &Exit{At: at, Code: 128 + 9, Reason: checkpoint.ExitSignaled, Signal: "SIGKILL", Unheard: true}
	case on == SaveFail && !t.KillAt.IsZero():
		return &Exit{At: at, Code: 1, Reason: checkpoint.ExitExited, Log: "simulated failure after SIGTERM"}
	}
	return &Exit{At: at, Reason: checkpoint.ExitExited}
}
