package simtrainer

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// The inputs of a trainer. Each happens at a time to which the trainer was advanced.

// Obey carries out a command. A command that it has carried out, or is carrying out, changes nothing.
func (t Trainer) Obey(c checkpoint.Command, now time.Time) (Trainer, []SaveEvent) {
	if t.Exit != nil || c.ID == t.CommandID || c.ID == t.PendingID {
		return t, nil
	}
	switch c.Command {
	case checkpoint.CommandKill:
		return eventsOf(t.cutOff(now))
	case checkpoint.CommandKillInSave:
		return t.cutOffSave(c.ID, now)
	}
	exit := c.Command == checkpoint.CommandCheckpointAndExit
	if exit && t.RequestedAt.IsZero() && t.KillAt.IsZero() {
		t.RequestedAt = now
	}
	if t.Config.Spec.Fault == Silent {
		return t, nil
	}
	return t.request(c.ID, exit, now)
}

// eventsOf returns a trainer, and the save that began or ended, if there is one.
func eventsOf(t Trainer, event *SaveEvent) (Trainer, []SaveEvent) {
	if event == nil {
		return t, nil
	}
	return t, []SaveEvent{*event}
}

// Terminate is SIGTERM. The trainer is killed when its grace period is over. A second SIGTERM changes
// nothing.
func (t Trainer) Terminate(now time.Time, grace time.Duration) (Trainer, []SaveEvent) {
	if t.Exit != nil || !t.KillAt.IsZero() {
		return t, nil
	}
	t.KillAt = now.Add(grace)
	if now.Sub(t.RequestedAt) < grace {
		t.RequestedAt = time.Time{}
	}
	switch t.Config.Spec.OnSIGTERM {
	case Ignore:
		return t, nil
	case Die:
		t.Step = t.stepAt(now)
		t.Exit = &Exit{At: now, Code: 128 + 15, Reason: checkpoint.ExitSignaled, Signal: "SIGTERM"}
		return t, nil
	}
	return t.request(t.PendingID, true, now)
}

// request is a command or SIGTERM. A deaf trainer handles it after its evaluation.
func (t Trainer) request(commandID string, exit bool, now time.Time) (Trainer, []SaveEvent) {
	if t.Config.Spec.Fault == Deaf && t.Phase == checkpoint.PhaseEvaluating {
		t.Deferred = deferred{true, commandID, exit || t.Deferred.Exit}
		return t, nil
	}
	return eventsOf(t.saveOnRequest(commandID, exit, now))
}

// saveOnRequest saves, and exits after it if exit is set. A save in progress will do, since no step is
// trained during it. Without new steps there is nothing to save.
func (t Trainer) saveOnRequest(commandID string, exit bool, now time.Time) (Trainer, *SaveEvent) {
	t.ExitAfterSave = t.ExitAfterSave || exit
	if t.Phase == checkpoint.PhaseSaving {
		t.PendingID = commandID
		return t, nil
	}
	if step := t.stepAt(now); t.Config.Every > 0 && step > t.Saved {
		t.PendingID = commandID
		return t.beginSave(now)
	}
	if commandID != "" {
		t.CommandID = commandID
	}
	if t.ExitAfterSave {
		t.Step = t.stepAt(now)
		t.Exit = t.exitOnRequest(now)
	}
	return t, nil
}

// Reconfigure changes how the trainer behaves from now on, after a change of its annotation. every is as in
// Config.
func (t Trainer) Reconfigure(s Spec, every time.Duration, now time.Time) Trainer {
	if t.Exit != nil || s == t.Config.Spec && every == t.Config.Every {
		return t
	}
	if t.Phase == checkpoint.PhaseTraining {
		t.Step, t.Since, t.SaveDue = t.stepAt(now), now, now.Add(every)
	}
	t.Config.Spec, t.Config.Every = s, every
	return t
}

// SetWaiting says whether a rank is missing, without which no step is trained. A save in progress continues.
func (t Trainer) SetWaiting(waiting bool, now time.Time) Trainer {
	if t.Exit != nil || waiting == t.Waiting {
		return t
	}
	if t.Phase == checkpoint.PhaseTraining {
		t.Step, t.Since = t.stepAt(now), now
	}
	if t.Phase == checkpoint.PhaseStarting && !waiting {
		t.Since = now // the rendezvous begins when the last rank is there
	}
	t.Waiting = waiting
	return t
}

// Freeze stops a trainer whose node has died.
func (t Trainer) Freeze(now time.Time) Trainer {
	if t.Exit == nil && t.Frozen.IsZero() {
		t.Frozen = now
	}
	return t
}

// Thaw continues a frozen trainer as if no time had passed.
func (t Trainer) Thaw(now time.Time) Trainer {
	if t.Frozen.IsZero() {
		return t
	}
	by := now.Sub(t.Frozen)
	t.Frozen = time.Time{}
	for _, at := range []*time.Time{&t.Since, &t.SaveDue, &t.KillAt, &t.PauseEnd, &t.RequestedAt} {
		if !at.IsZero() {
			*at = at.Add(by)
		}
	}
	return t
}
