package simtrainer

import (
	"fmt"
	"math"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

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
