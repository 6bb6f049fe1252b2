package simtrainer

import (
	"fmt"
	"math"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Advance returns the trainer at a later time, and the saves that began or ended meanwhile, in order.
func (t Trainer) Advance(now time.Time) (Trainer, []SaveEvent) {
	var events []SaveEvent
	for {
		at, do := t.next()
		if do == nil || at.After(now) {
			return t, events
		}
		var event *SaveEvent
		if t, event = do(t, at); event != nil {
			events = append(events, *event)
		}
	}
}

// Next returns when the trainer's next event happens without any input; false: there is none.
func (t Trainer) Next() (time.Time, bool) {
	at, do := t.next()
	return at, do != nil
}

// transition is what an event does to a trainer.
type transition func(Trainer, time.Time) (Trainer, *SaveEvent)

// next event. Work that ends at the very moment of the kill is done.
func (t Trainer) next() (time.Time, transition) {
	if t.Exit != nil || !t.Frozen.IsZero() {
		return time.Time{}, nil
	}
	at, do := t.nextUnlessKilled()
	if !t.KillAt.IsZero() && (do == nil || t.KillAt.Before(at)) {
		return t.KillAt, Trainer.killed
	}
	return at, do
}

// nextUnlessKilled is the next event if the trainer is not killed before it.
func (t Trainer) nextUnlessKilled() (time.Time, transition) {
	switch {
	case t.Phase == checkpoint.PhaseSaving && t.CutOff > 0:
		return t.Since.Add(t.cutOffAfter()), Trainer.cutOff
	case t.Phase == checkpoint.PhaseSaving:
		return t.Since.Add(t.Config.Spec.Save), Trainer.saved
	case !t.PauseEnd.IsZero():
		return t.PauseEnd, Trainer.pauseEnded
	case t.Waiting:
		return time.Time{}, nil
	case t.Phase == checkpoint.PhaseStarting:
		return t.Since.Add(t.Config.Spec.Start), Trainer.begin
	}
	at, do := t.reaches(t.Config.Spec.Steps), Trainer.trained
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
	if p := t.nextPause(); p.Step > 0 {
		if pauses := t.reaches(p.Step); pauses.Before(at) {
			at, do = pauses, Trainer.pauses
		}
	}
	due := t.SaveDue
	if due.Before(t.Since) { // the save became due while the trainer waited
		due = t.Since
	}
	if t.Config.Every > 0 && due.Before(at) {
		return due, Trainer.saveDue
	}
	return at, do
}

// failsAfter is the step after which the trainer fails in this attempt; 0: it does not fail.
func (t Trainer) failsAfter() int64 {
	s := t.Config.Spec
	if s.FailAt <= t.Step || s.FailAttempts > 0 && t.Config.Attempt > s.FailAttempts {
		return 0
	}
	return s.FailAt
}

// reaches is when a step will be finished, in a century at most: a time.Duration holds no more than three.
func (t Trainer) reaches(step int64) time.Time {
	const century = 100 * 365 * 24 * 3600
	seconds := min(float64(max(step-t.Step, 0))/t.rate(), century)
	return t.Since.Add(time.Duration(math.Ceil(seconds * float64(time.Second))))
}

// begin is the end of the start: training begins.
func (t Trainer) begin(at time.Time) (Trainer, *SaveEvent) {
	t.Phase, t.Since, t.SaveDue = checkpoint.PhaseTraining, at, at.Add(t.Config.Every)
	return t, nil
}

// saveDue begins the periodic save, or skips it if there is no new step.
func (t Trainer) saveDue(at time.Time) (Trainer, *SaveEvent) {
	if t.stepAt(at) == t.Saved {
		t.SaveDue = at.Add(t.Config.Every)
		return t, nil
	}
	return t.beginSave(at)
}

// saved ends a save. A torn save ends too, as far as the trainer knows, but never becomes complete.
func (t Trainer) saved(at time.Time) (Trainer, *SaveEvent) {
	event := &SaveEvent{Step: t.Step, Complete: true, At: at, Took: t.Config.Spec.Save}
	if torn := t.Config.Spec.TornAt; torn > 0 && !t.TornDone && t.startStep() < torn && torn <= t.Step {
		t.TornDone, event = true, nil
	} else {
		t.Saves++
	}
	t.Saved = t.Step
	if t.PendingID != "" {
		t.CommandID, t.PendingID = t.PendingID, ""
	}
	t.Phase, t.Since, t.SaveDue = checkpoint.PhaseTraining, at, at.Add(t.Config.Every)
	if t.CutsOff { // the save was too short to be met
		t, _ = t.cutOff(at)
		return t, event
	}
	if t.Step >= t.Config.Spec.Steps { // all steps are trained and saved: success, even if it was asked to exit
		t, _ = t.trained(at)
	} else if t.ExitAfterSave {
		t.Exit = t.exitOnRequest(at)
	}
	return t, event
}

// trained is the end of the last step. The trainer saves it before it completes.
func (t Trainer) trained(at time.Time) (Trainer, *SaveEvent) {
	t.Step, t.Since = max(t.Config.Spec.Steps, t.Step), at
	if t.Config.Every > 0 && t.Saved < t.Step {
		return t.beginSave(at)
	}
	t.Phase = checkpoint.PhaseCompleted
	t.Exit = &Exit{At: at, Reason: checkpoint.ExitCompleted}
	return t, nil
}

func (t Trainer) failed(at time.Time) (Trainer, *SaveEvent) {
	t.Step, t.Since = t.Config.Spec.FailAt, at
	t.Exit = &Exit{
		At: at, Code: t.Config.Spec.ExitCode, Reason: checkpoint.ExitExited,
		Log: fmt.Sprintf("simulated failure after step %d", t.Step),
	}
	return t, nil
}

func (t Trainer) pauses(at time.Time) (Trainer, *SaveEvent) {
	p := t.nextPause()
	t.Step, t.Phase, t.Since, t.PauseEnd = p.Step, p.Phase, at, at.Add(p.Length)
	return t, nil
}

func (t Trainer) pauseEnded(at time.Time) (Trainer, *SaveEvent) {
	t.Phase, t.Since, t.PauseEnd = checkpoint.PhaseTraining, at, time.Time{}
	if d := t.Deferred; d.Set {
		t.Deferred = deferred{}
		return t.saveOnRequest(d.CommandID, d.Exit, at)
	}
	return t, nil
}

func (t Trainer) stalled(at time.Time) (Trainer, *SaveEvent) {
	t.Step, t.Since = t.stallsAfter(), at
	return t, nil
}

func (t Trainer) killed(at time.Time) (Trainer, *SaveEvent) {
	t.Step = t.stepAt(at)
	t.Exit = &Exit{At: at, Code: 128 + 9, Reason: checkpoint.ExitGraceExceeded, Signal: "SIGKILL"}
	return t, nil
}

// cutOff is the kill of a rehearsal, as that of a lost node.
func (t Trainer) cutOff(at time.Time) (Trainer, *SaveEvent) {
	event := t.damaged(at)
	t.Step = t.stepAt(at)
	t.Exit = &Exit{At: at, Code: 128 + 9, Reason: checkpoint.ExitSignaled, Signal: "SIGKILL"}
	return t, event
}

// damaged is the save under way, if it looks complete now that the agent has cut it off.
func (t Trainer) damaged(at time.Time) *SaveEvent {
	if t.Phase != checkpoint.PhaseSaving || t.Config.Spec.Fault != TornSaves || !t.CutsOff {
		return nil
	}
	return &SaveEvent{Step: t.Step, Complete: true, At: at, Took: at.Sub(t.Since), Damaged: true}
}
