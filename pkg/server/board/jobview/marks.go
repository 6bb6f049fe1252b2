package jobview

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Mark is an event.
type Mark struct {
	Kind  Kind
	At    float64 // in percent of the chart
	Title string
}

// marksOf the events of a lane.
func marksOf(in *Input, l *Lane, s timescale) []Mark {
	var marks []Mark
	add := func(kind Kind, at *time.Time, title string) {
		if at != nil && s.contains(*at) {
			marks = append(marks, Mark{kind, s.at(*at), title})
		}
	}
	for _, c := range in.Record.Checkpoints {
		if c.Attempt == l.Attempt && l.Attempt > 0 || c.Attempt == 0 && c.Time != nil && l.ranAt(*c.Time) {
			add(Saved, c.Time, "checkpoint of step "+number(c.Step))
		}
	}
	preempted := false
	for _, p := range in.Record.Preemptions {
		if p.Attempt == l.Attempt {
			preempted = true
			add(Preempted, &p.Time, "attempt "+number(int64(p.Attempt))+" preempted: "+p.Reason)
		}
	}
	for _, a := range in.Record.Attempts {
		switch {
		case a.Number != l.Attempt || preempted:
		case a.EndPhase == v1alpha1.PhaseSucceeded:
			add(Succeeded, a.Ended, "attempt "+number(int64(a.Number))+" succeeded")
		case failed(&a):
			add(Failed, a.Ended, "attempt "+number(int64(a.Number))+" failed: "+a.EndReason)
		}
	}
	return marks
}

func (l *Lane) ranAt(t time.Time) bool {
	return slices.ContainsFunc(l.Bars, func(b Bar) bool {
		return (b.Kind == Running || b.Kind == Draining) && !t.Before(b.From) && (b.To == nil || t.Before(*b.To))
	})
}

// failed reports whether an attempt ended because a rank or the job failed.
func failed(a *history.Attempt) bool {
	switch a.EndReason {
	case v1alpha1.ReasonRankFailed, v1alpha1.ReasonPermanentFailure, v1alpha1.ReasonBackoffLimit:
		return true
	}
	return a.EndPhase == v1alpha1.PhaseFailed
}
