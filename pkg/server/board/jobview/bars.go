package jobview

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Bar is a period of an attempt.
type Bar struct {
	Kind Kind
	// At and Width are in percent of the chart.
	At, Width float64
	From      time.Time
	// To is nil while it lasts, or if its end is unknown.
	To *time.Time
	// Open reports that it lasts; Unsure that its end is unknown: it is drawn up to the latest possible end.
	Open, Unsure bool
	Title        string
}

// laneBar is a bar of an attempt, not yet on a chart.
type laneBar struct {
	attempt int32
	Bar
}

// barsOf returns the bars of the transitions, oldest first.
func barsOf(in *Input) []laneBar {
	ts := in.Record.Transitions
	var bars []laneBar
	for i, t := range ts {
		kind := kindOf(t.Phase)
		if kind == "" {
			continue
		}
		b := laneBar{t.Attempt, Bar{Kind: kind, From: t.Time}}
		switch {
		case i+1 < len(ts):
			b.To, b.Unsure = &ts[i+1].Time, !follows(t, ts[i+1])
		case in.Record.Job.Deleted != nil:
			b.To = in.Record.Job.Deleted
		case in.Record.Job.DeletedBefore != nil:
			b.To, b.Unsure = in.Record.Job.DeletedBefore, true
		case in.Live == nil: // its last known state
			b.To, b.Unsure = new(until(in.Record.Job.Created, in.Now)), true
		default:
			b.Open = true
		}
		if b.To != nil && b.To.Before(b.From) {
			b.To = &b.From // clocks differ
		}
		bars = append(bars, b)
	}
	return bars
}

// follows reports whether no transition can be missing between two: they are of one attempt, or the second
// begins the next one.
func follows(a, b history.Transition) bool {
	switch {
	case a.Attempt == 0 || b.Attempt == 0:
		return false
	case a.Attempt == b.Attempt:
		return true
	}
	begins := b.Phase == v1alpha1.PhaseRestarting || b.Phase == v1alpha1.PhaseQueued ||
		b.Phase == v1alpha1.PhaseSuspended
	return b.Attempt == a.Attempt+1 && a.Phase == v1alpha1.PhaseDraining && begins
}

// kindOf a phase; empty for a final one.
func kindOf(p v1alpha1.Phase) Kind {
	switch p {
	case v1alpha1.PhasePending, v1alpha1.PhaseQueued:
		return Waiting
	case v1alpha1.PhaseStarting:
		return Starting
	case v1alpha1.PhaseRunning:
		return Running
	case v1alpha1.PhaseDraining:
		return Draining
	case v1alpha1.PhaseRestarting:
		return Backoff
	case v1alpha1.PhaseSuspended:
		return Suspended
	}
	return ""
}

func (b *Bar) describe(attempt int32) string {
	who := "attempt " + number(int64(attempt))
	if attempt == 0 {
		who = "an unknown attempt"
	}
	text := who + " " + b.Kind.Label()
	switch {
	case b.Open:
		return text + " since " + moment(b.From)
	case b.Unsure:
		return text + " from " + moment(b.From) + ", its end is " + unknown
	}
	return text + " from " + moment(b.From) + ", for " + between(&b.From, b.To)
}
