package jobview

import (
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// Bounds of the timeline.
const (
	shownEvents = 15
	maxEvents   = 400
)

// Timeline of events, the last first.
type Timeline struct {
	Shown, Older []Event
	// Hidden is the number of older events.
	Hidden int
}

// Event of the timeline.
type Event struct {
	At    *time.Time // nil: unknown
	Class string     // its kind, or its phase
	Says  string
	// Note with details.
	Note string
}

func timelineOf(in *Input) Timeline {
	var t Timeline
	for _, e := range slices.Backward(in.Timeline) {
		if len(t.Shown) == maxEvents {
			t.Hidden = len(in.Timeline) - maxEvents
			break
		}
		t.Shown = append(t.Shown, eventOf(&e))
	}
	if len(t.Shown) > shownEvents {
		t.Shown, t.Older = t.Shown[:shownEvents], t.Shown[shownEvents:]
	}
	return t
}

func eventOf(e *timeline.Entry) Event {
	out := Event{At: e.Time, Class: "event-" + strings.ToLower(string(e.Kind)), Note: e.Message}
	switch e.Kind {
	case timeline.Created:
		out.Says = "Created"
	case timeline.PhaseEntered:
		out.Class, out.Says, out.Note = PhaseClass(e.Phase), string(e.Phase), notes(
			e.Reason, ofAttempt(e.Attempt), forSeconds(e.Seconds), e.Message)
	case timeline.Preempted:
		out.Says = "Preempted"
		out.Note = notes(e.Reason, ofAttempt(e.Attempt), by(e.By), lostOf(e), e.Message)
	case timeline.CheckpointSaved:
		out.Says, out.Note = "Checkpoint"+atStep(e.Step), notes(ofAttempt(e.Attempt), e.URI, e.Message)
	case timeline.Resumed:
		out.Says, out.Note = "Resumed"+atStep(e.Step), notes(ofAttempt(e.Attempt), e.Message)
	case timeline.WayPlayed:
		out.Says = "Rehearsal: " + e.Reason
		out.Note = notes(ofAttempt(e.Attempt), strings.TrimPrefix(atStep(e.Step), " of "), e.Message)
	case timeline.Reserved:
		out.Says = "Capacity is kept for it"
	case timeline.Lapsed:
		out.Says, out.Note = "The reservation lapsed", e.Reason
	case timeline.HeldBack:
		out.Says = "Fits, and waits: capacity is kept for another gang"
	case timeline.RankFailed:
		out.Says, out.Note = "A rank failed", notes(e.Reason, ofAttempt(e.Attempt), e.Message)
	case timeline.Deleted:
		out.Says = "Deleted"
	case timeline.Gap:
		out.Says = "Unknown"
	default: // a new kind
		out.Says = string(e.Kind)
	}
	return out
}

// PhaseClass is the class of a phase; "unseen" before the operator has set one.
func PhaseClass(p v1alpha1.Phase) string {
	switch p {
	case v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning,
		v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded,
		v1alpha1.PhaseFailed:
		return "phase-" + strings.ToLower(string(p))
	}
	return "phase-unknown"
}

// notes joined, without empty ones.
func notes(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " · ")
}

func ofAttempt(n int32) string {
	if n == 0 {
		return ""
	}
	return "attempt " + number(int64(n))
}

func forSeconds(n *int64) string {
	if n == nil {
		return ""
	}
	return "for " + seconds(*n)
}

func atStep(step *int64) string {
	if step == nil {
		return ""
	}
	return " of step " + number(*step)
}

func by(who string) string {
	if who == "" {
		return "preemptor " + unknown
	}
	return "by " + who
}

func lostOf(e *timeline.Entry) string {
	if e.LostSteps == nil || e.LostGPUSeconds == nil {
		return "cost " + unknown
	}
	return "lost " + count(*e.LostSteps, "step") + ", " + hours(*e.LostGPUSeconds) + " GPU-hours"
}
