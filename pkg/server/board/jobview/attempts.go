package jobview

import (
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// maxLanes and maxRows bound the chart and its table, which show the last attempts.
const (
	maxLanes = 24
	maxRows  = 200
)

// Attempts are a chart of when a job's attempts waited and ran, and a table.
type Attempts struct {
	Lanes []Lane
	Ticks []Tick
	// Days of the chart.
	Days string
	// Legend has the kinds of bars and marks in the chart.
	Legend []Kind
	// Hidden is the number of attempts without a lane.
	Hidden int
	Rows   []AttemptRow
	// HiddenRows is the number of attempts without a row.
	HiddenRows int
	// Alternative is the chart's text alternative.
	Alternative string
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
	a := Attempts{Rows: attemptRows(in)}
	if n := len(a.Rows) - maxRows; n > 0 {
		a.Rows, a.HiddenRows = a.Rows[n:], n
	}
	a.Alternative = "Attempts of the job over time: " + count(len(in.Record.Attempts), "attempt") + ", " +
		count(len(in.Record.Preemptions), "preemption") + ". The table below has the same data."
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

func attemptRows(in *Input) []AttemptRow {
	r := &in.Record
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
			of[s.Attempt] = -1 // a part is unknown, or not over
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
		if a.Seen && !(unknownGPUs(in) && a.Number == in.Live.Status.Attempt) {
			row.GPUs = strings.TrimSpace(number(a.GPUs) + " " + a.GPUKind)
		}
		rows = append(rows, row)
	}
	return rows
}

// spent is how long an attempt waited or ran; empty if it did not, or still does.
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

// lostSteps of an attempt; empty before its end.
func lostSteps(a *history.Attempt) string {
	switch {
	case a.Lost != nil:
		return number(a.Lost.Steps)
	case a.Ended == nil || a.EndPhase == v1alpha1.PhaseSucceeded:
		return ""
	}
	return unknown
}
