package jobview

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Preemptions of a job and what they cost, the last one first.
type Preemptions struct {
	Rows   []PreemptionRow
	Priced bool
	// Hidden are those that are counted and of which nothing else is known.
	Hidden int
}

// PreemptionRow is one of them.
type PreemptionRow struct {
	Attempt int32
	Time    time.Time
	Reason  string
	// By is who caused it, in the scheduler's words.
	By      string
	Message string
	// Saved is whether it saved first; empty where the operator did not choose the gang.
	Saved string
	// What it cost, or that it is unknown.
	LostSteps, LostTime, GPUHours, Cost string
}

func preemptionsOf(in *Input) Preemptions {
	all := in.Record.Preemptions
	out := Preemptions{
		Priced: len(in.Prices) > 0, Hidden: max(0, int(in.Record.Job.Preemptions)-len(all)),
	}
	kinds := map[int32]string{}
	for _, s := range in.Record.Spans() {
		kinds[s.Attempt] = s.GPUKind
	}
	for i := len(all) - 1; i >= 0 && len(out.Rows) < maxRows; i-- {
		out.Rows = append(out.Rows, preemptionRow(in, &all[i], kinds))
	}
	return out
}

func preemptionRow(in *Input, p *history.Preemption, kinds map[int32]string) PreemptionRow {
	row := PreemptionRow{
		Attempt: p.Attempt, Time: p.Time, Reason: p.Reason, By: known(p.By), Message: p.Message,
		Saved: saved[p.Answer], LostSteps: unknown, LostTime: unknown, GPUHours: unknown, Cost: unknown,
	}
	if p.Lost == nil {
		return row
	}
	kind, seen := kinds[p.Attempt]
	if !seen {
		kind = in.Record.Job.GPUKind
	}
	row.LostSteps, row.LostTime = number(p.Lost.Steps), seconds(p.Lost.Seconds)
	row.GPUHours = hours(p.Lost.GPUSeconds)
	row.Cost = price(in, used{kind: p.Lost.GPUSeconds})
	return row
}

// saved says what a trainer answered when it was asked to save first.
var saved = map[history.Answer]string{
	history.AnswerSaved: "saved first", history.AnswerInVain: "asked to save, in vain",
	history.AnswerNotAsked: "not asked to save",
}
