package jobview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// maxLanes and maxRows bound the chart and its table. The last attempts are shown.
const (
	maxLanes = 24
	maxRows  = 200
)

// Attempts are a chart of when the attempts of a job waited and ran, and the table of the same.
type Attempts struct {
	Lanes []Lane
	Ticks []Tick
	// Days on which the chart lies.
	Days string
	// Legend has the kinds of bars and marks that occur.
	Legend []Kind
	// Hidden attempts have no lane, since there are too many.
	Hidden int
	Rows   []AttemptRow
	// HiddenRows have no row either.
	HiddenRows int
	// Alternative tells the chart in words.
	Alternative string
}

// Lane of one attempt.
type Lane struct {
	// Attempt is 0 for what happened in an attempt that is not known.
	Attempt int32
	Bars    []Bar
	Marks   []Mark
}

// Kind of a bar or a mark. It is also their class.
type Kind string

// Kinds of bars: what the attempt did.
const (
	Waiting   Kind = "waiting"   // for the operator or the scheduler
	Backoff   Kind = "backoff"   // for the time of its restart
	Suspended Kind = "suspended" // by its user
	Starting  Kind = "starting"
	Running   Kind = "running"
	Draining  Kind = "draining"
)

// Kinds of marks: what happened.
const (
	Saved     Kind = "saved" // a complete checkpoint
	Preempted Kind = "preempted"
	Failed    Kind = "failed"
	Succeeded Kind = "succeeded"
	Resumed   Kind = "resumed" // in curves: a new attempt began
)

// kinds in the order of the legend.
var kinds = []Kind{
	Waiting, Backoff, Suspended, Starting, Running, Draining, Saved, Preempted, Failed, Succeeded,
}

// Says is what a kind is called.
func (k Kind) Says() string {
	switch k {
	case Backoff:
		return "backing off"
	case Saved:
		return "checkpoint"
	}
	return string(k)
}

// Mark reports whether it is a moment, not a time.
func (k Kind) Mark() bool {
	return slices.Index(kinds, k) >= slices.Index(kinds, Saved) || k == Resumed
}

// Bar is a time in which an attempt did one thing.
type Bar struct {
	Kind Kind
	// At and Width are in percent of the chart.
	At, Width float64
	From      time.Time
	// To is nil while it goes on, and where its end is unknown.
	To *time.Time
	// Open reports whether it goes on; Unsure, whether its end is unknown: it is drawn up to when it was over.
	Open, Unsure bool
	Title        string
}

// Mark is something that happened.
type Mark struct {
	Kind  Kind
	At    float64 // in percent of the chart
	Title string
}

// AttemptRow is an attempt in words.
type AttemptRow struct {
	Number               int32
	Queued, Ran, Ended   *time.Time
	Waited, Trained, End string
	GPUs, ResumedFrom    string
	LostSteps            string
}

func attemptsOf(in *Input) Attempts {
	bars := barsOf(in)
	a := Attempts{Rows: attemptRows(&in.Record)}
	if n := len(a.Rows) - maxRows; n > 0 {
		a.Rows, a.HiddenRows = a.Rows[n:], n
	}
	a.Alternative = "Attempts of the job over time: " + count(len(in.Record.Attempts), "attempt") + ", " +
		count(len(in.Record.Preemptions), "preemption") + ". The table below says the same."
	if len(bars) == 0 {
		return a
	}
	lanes := lanesOf(bars)
	if n := len(lanes) - maxLanes; n > 0 {
		lanes, a.Hidden = lanes[n:], n
	}
	s := spanOf(lanes, in)
	for i := range lanes {
		place(&lanes[i], s)
		lanes[i].Marks = marksOf(in, &lanes[i], s)
	}
	a.Lanes, a.Ticks, a.Days, a.Legend = lanes, s.ticks(), s.days(), legendOf(lanes)
	return a
}

// laneBar is a bar of an attempt, not yet on a chart.
type laneBar struct {
	attempt int32
	Bar
}

// barsOf what happened, oldest first.
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
		case in.Live == nil: // it was so when it was last seen
			b.To, b.Unsure = new(until(in.Record.Job.Created, in.Now)), true
		default:
			b.Open = true
		}
		if b.To != nil && b.To.Before(b.From) {
			b.To = &b.From // two clocks
		}
		bars = append(bars, b)
	}
	return bars
}

// follows reports whether one transition is known to have followed another without any in between: it is of
// the same attempt, or begins the next one.
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

// kindOf a phase; empty for one that is final.
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

// lanesOf attempts, those that are unknown first.
func lanesOf(bars []laneBar) []Lane {
	var lanes []Lane
	for _, b := range bars {
		at := slices.IndexFunc(lanes, func(l Lane) bool { return l.Attempt == b.attempt })
		if at < 0 {
			at = len(lanes)
			lanes = append(lanes, Lane{Attempt: b.attempt})
		}
		lanes[at].Bars = append(lanes[at].Bars, b.Bar)
	}
	slices.SortStableFunc(lanes, func(a, b Lane) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return lanes
}

// spanOf the lanes: from the first bar to the last end, or to now.
func spanOf(lanes []Lane, in *Input) timescale {
	from := lanes[0].Bars[0].From
	for _, l := range lanes {
		for _, b := range l.Bars {
			if b.From.Before(from) {
				from = b.From
			}
		}
	}
	to := from
	for _, l := range lanes {
		for _, b := range l.Bars {
			end := b.To
			if b.Open {
				end = new(until(from, in.Now))
			}
			if end.After(to) {
				to = *end
			}
		}
	}
	return timescaleOf(from, to)
}

// place the bars on the chart.
func place(l *Lane, s timescale) {
	for i := range l.Bars {
		b := &l.Bars[i]
		end := s.to
		if b.To != nil {
			end = *b.To
		}
		b.At = s.at(b.From)
		b.Width = s.at(end) - b.At
		b.Title = b.says(l.Attempt)
		if b.Unsure {
			b.To = nil
		}
	}
}

func (b *Bar) says(attempt int32) string {
	who := "attempt " + number(int64(attempt))
	if attempt == 0 {
		who = "an attempt that is not known"
	}
	said := who + " " + b.Kind.Says()
	switch {
	case b.Open:
		return said + " since " + moment(b.From)
	case b.Unsure:
		return said + " from " + moment(b.From) + ", until when is " + unknown
	}
	return said + " from " + moment(b.From) + ", for " + between(&b.From, b.To)
}

// marksOf what happened in a lane.
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

// failed reports whether an attempt ended since a rank failed, or the job did.
func failed(a *history.Attempt) bool {
	switch a.EndReason {
	case v1alpha1.ReasonRankFailed, v1alpha1.ReasonPermanentFailure, v1alpha1.ReasonBackoffLimit:
		return true
	}
	return a.EndPhase == v1alpha1.PhaseFailed
}

// legendOf what occurs, in its order.
func legendOf(lanes []Lane) []Kind {
	seen := map[Kind]bool{}
	for _, l := range lanes {
		for _, b := range l.Bars {
			seen[b.Kind] = true
		}
		for _, m := range l.Marks {
			seen[m.Kind] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !seen[k] })
}

func attemptRows(r *history.Record) []AttemptRow {
	waited, ran := map[int32]int64{}, map[int32]int64{}
	for _, s := range r.Spans() {
		n, of := int64(-1), waited
		if s.To != nil {
			n = int64(s.To.Sub(s.From) / time.Second)
		}
		if s.Running {
			of = ran
		}
		if had := of[s.Attempt]; had < 0 || n < 0 {
			of[s.Attempt] = -1 // a part is not known, or goes on
		} else {
			of[s.Attempt] = had + n
		}
	}
	rows := make([]AttemptRow, 0, len(r.Attempts))
	for i := range r.Attempts {
		a := &r.Attempts[i]
		row := AttemptRow{
			Number: a.Number, Queued: a.Queued, Ran: a.Started, Ended: a.Ended, End: endOf(a),
			Waited: spent(waited, a.Number), Trained: spent(ran, a.Number),
			GPUs: unknown, ResumedFrom: resumedText(a), LostSteps: lostSteps(a),
		}
		if a.Seen {
			row.GPUs = strings.TrimSpace(number(a.GPUs) + " " + a.GPUKind)
		}
		rows = append(rows, row)
	}
	return rows
}

// spent is how long an attempt waited or ran; empty where it did not, or still does.
func spent(of map[int32]int64, attempt int32) string {
	n, known := of[attempt]
	if !known || n < 0 {
		return ""
	}
	return seconds(n)
}

func endOf(a *history.Attempt) string {
	switch {
	case a.EndPhase == "":
		return ""
	case a.EndReason == "":
		return string(a.EndPhase)
	}
	return a.EndReason
}

// lostSteps of an attempt; empty while it has not ended.
func lostSteps(a *history.Attempt) string {
	switch {
	case a.Lost != nil:
		return number(a.Lost.Steps)
	case a.Ended == nil || a.EndPhase == v1alpha1.PhaseSucceeded:
		return ""
	}
	return unknown
}
