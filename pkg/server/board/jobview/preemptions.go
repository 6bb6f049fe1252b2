package jobview

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Preemptions of a job and their cost, the last one first.
type Preemptions struct {
	Rows   []PreemptionRow
	Priced bool
	// Hidden preemptions are counted, without details.
	Hidden int
}

// PreemptionRow is one of them.
type PreemptionRow struct {
	Attempt int32
	Time    time.Time
	Reason  string
	// By names the preemptor, in the scheduler's words.
	By      string
	Message string
	// Saved is whether it saved first; empty if the operator did not choose the gang.
	Saved string
	// Its cost, or unknown.
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

// saved describes the result of a requested checkpoint.
var saved = map[history.Answer]string{
	history.AnswerSaved: "saved first", history.AnswerInVain: "checkpoint requested, not saved",
	history.AnswerNotAsked: "no checkpoint requested",
}
