package simtrainer

import (
	"fmt"
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

// Advance is the trainer at a later time, and the saves that began or were done meanwhile, in order.
func (t Trainer) Advance(now time.Time) (Trainer, []Saving) {
	var news []Saving
	for {
		at, do := t.next()
		if do == nil || at.After(now) {
			return t, news
		}
		var saving *Saving
		if t, saving = do(t, at); saving != nil {
			news = append(news, *saving)
		}
	}
}

// Next is when something happens to the trainer by itself; false: nothing does.
func (t Trainer) Next() (time.Time, bool) {
	at, do := t.next()
	return at, do != nil
}

// change of a trainer by itself, at its time.
type change func(Trainer, time.Time) (Trainer, *Saving)

// next event. Work that ends in the very moment of the kill is done.
func (t Trainer) next() (time.Time, change) {
	if t.Exit != nil || !t.Frozen.IsZero() {
		return time.Time{}, nil
	}
	at, do := t.ahead()
	if !t.KillAt.IsZero() && (do == nil || t.KillAt.Before(at)) {
		return t.KillAt, Trainer.killed
	}
	return at, do
}

// ahead is what comes next if nobody kills the trainer.
func (t Trainer) ahead() (time.Time, change) {
	switch {
	case t.Phase == checkpoint.PhaseSaving:
		return t.Since.Add(t.Script.Spec.Save), Trainer.saved
	case t.Waits:
		return time.Time{}, nil
	case t.Phase == checkpoint.PhaseStarting:
		return t.Since.Add(t.Script.Spec.Start), Trainer.begin
	}
	at, do := t.reaches(t.Script.Spec.Steps), Trainer.trained
	if step := t.failsAfter(); step > 0 {
		at, do = t.reaches(step), Trainer.failed
	}
	if stall := t.stallsAfter(); stall > 0 {
		if t.Step >= stall {
			return time.Time{}, nil
		}
		if stalls := t.reaches(stall); stalls.Before(at) {
			at, do = stalls, Trainer.stalled
		}
	}
	due := t.SaveDue
	if due.Before(t.Since) { // it waited when it was to save
		due = t.Since
	}
	if t.Script.Every > 0 && due.Before(at) {
		return due, Trainer.saveDue
	}
	return at, do
}

// stallsAfter is the last step that it trains before it stalls; 0: it does not.
func (t Trainer) stallsAfter() int64 {
	if t.Script.Spec.StallAfter == 0 {
		return 0
	}
	return t.first() + t.Script.Spec.StallAfter
}

// failsAfter is the step after which the trainer fails in this attempt; 0: it does not.
func (t Trainer) failsAfter() int64 {
	s := t.Script.Spec
	if s.FailAt <= t.Step || s.FailAttempts > 0 && t.Script.Attempt > s.FailAttempts {
		return 0
	}
	return s.FailAt
}

// reaches says when a step will be trained; beyond a century it says a century, since a time.Duration holds no more than three.
func (t Trainer) reaches(step int64) time.Time {
	const century = 100 * 365 * 24 * 3600
	seconds := min(float64(max(step-t.Step, 0))/t.Script.Spec.Rate, century)
	return t.Since.Add(time.Duration(math.Ceil(seconds * float64(time.Second))))
}

// stepAt is the last step that is trained at a time before the next event.
func (t Trainer) stepAt(now time.Time) int64 {
	if t.Phase != checkpoint.PhaseTraining || t.Waits || t.Exit != nil {
		return t.Step
	}
	if !t.Frozen.IsZero() {
		now = t.Frozen
	}
	const rounding = 1e-6 // of a step: times are rounded to nanoseconds
	trained := int64(math.Floor(now.Sub(t.Since).Seconds()*t.Script.Spec.Rate + rounding))
	last := t.Script.Spec.Steps
	if stall := t.stallsAfter(); stall > 0 {
		last = min(last, stall)
	}
	return min(t.Step+max(trained, 0), max(last, t.Step))
}

func (t Trainer) begin(at time.Time) (Trainer, *Saving) {
	t.Phase, t.Since, t.SaveDue = checkpoint.PhaseTraining, at, at.Add(t.Script.Every)
	return t, nil
}

func (t Trainer) saveDue(at time.Time) (Trainer, *Saving) {
	if t.stepAt(at) == t.Saved { // nothing new to save
		t.SaveDue = at.Add(t.Script.Every)
		return t, nil
	}
	return t.save(at)
}

// save begins one.
func (t Trainer) save(at time.Time) (Trainer, *Saving) {
	t.Step = t.stepAt(at)
	t.Phase, t.Since = checkpoint.PhaseSaving, at
	return t, &Saving{Step: t.Step, At: at}
}

// saved ends a save. One that is torn ends as well, as far as the trainer knows.
func (t Trainer) saved(at time.Time) (Trainer, *Saving) {
	news := &Saving{Step: t.Step, Complete: true, At: at, Took: t.Script.Spec.Save}
	if torn := t.Script.Spec.TornAt; torn > 0 && !t.Tore && t.first() < torn && torn <= t.Step {
		t.Tore, news = true, nil
	}
	t.Saved = t.Step
	if t.Asked != "" {
		t.CommandID, t.Asked = t.Asked, ""
	}
	t.Phase, t.Since, t.SaveDue = checkpoint.PhaseTraining, at, at.Add(t.Script.Every)
	if t.Step >= t.Script.Spec.Steps { // every step is trained and saved, asked to leave or not
		t, _ = t.trained(at)
	} else if t.Leaves {
		t.Exit = t.leave(at)
	}
	return t, news
}

// leave is how it ends when it was told to and has saved.
func (t Trainer) leave(at time.Time) *Exit {
	if t.Script.Spec.OnSIGTERM == SaveUnheard {
		return &Exit{At: at, Code: 128 + 9, Reason: checkpoint.ExitSignaled, Signal: "SIGKILL", Unheard: true}
	}
	return &Exit{At: at, Reason: checkpoint.ExitExited}
}

// trained: every step is. The last ones are saved before the end.
func (t Trainer) trained(at time.Time) (Trainer, *Saving) {
	t.Step, t.Since = max(t.Script.Spec.Steps, t.Step), at
	if t.Script.Every > 0 && t.Saved < t.Step {
		return t.save(at)
	}
	t.Phase = checkpoint.PhaseCompleted
	t.Exit = &Exit{At: at, Reason: checkpoint.ExitCompleted}
	return t, nil
}

func (t Trainer) failed(at time.Time) (Trainer, *Saving) {
	t.Step, t.Since = t.Script.Spec.FailAt, at
	t.Exit = &Exit{
		At: at, Code: t.Script.Spec.ExitCode, Reason: checkpoint.ExitExited,
		Log: fmt.Sprintf("simulated failure after step %d", t.Step),
	}
	return t, nil
}

func (t Trainer) stalled(at time.Time) (Trainer, *Saving) {
	t.Step, t.Since = t.stallsAfter(), at
	return t, nil
}

func (t Trainer) killed(at time.Time) (Trainer, *Saving) {
	t.Step = t.stepAt(at)
	t.Exit = &Exit{At: at, Code: 128 + 9, Reason: checkpoint.ExitGraceExceeded, Signal: "SIGKILL"}
	return t, nil
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
