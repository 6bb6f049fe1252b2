package trainingjob

import (
	"cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/account"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/status"
)

type (
	// Snapshot is the complete input of Decide.
	Snapshot = observation.Snapshot
	// Plan is the result of Decide.
	Plan = decision.Plan
)

// Decide plans the next actions and the status of a job. It is pure: the same snapshot gives the same plan. A
// plan that is carried out in part or not at all leads to the same end.
func Decide(s Snapshot) Plan { return decide(s, nil) }

// draft is a plan that the steps fill in.
type draft struct {
	o *observation.Observation
	p *Plan
	// transition is nil when the job stays in its phase.
	transition *decision.Transition
	outcome    decision.Outcome
	// adopted, waits and counted: a step made a change that must be written now.
	adopted, waits, counted bool
}

// step fills in a part of a draft. It writes only the fields of the status that its owner has (owners.go).
type step struct {
	owner writer
	do    func(*draft)
}

// enterSteps change the phase. Only the status is written; the effects follow in the next reconcile.
var enterSteps = []step{
	{decisionWriter, func(d *draft) { d.transition.Enter(d.p) }},
	{accountWriter, func(d *draft) {
		account.RecordCheckpoints(d.o, d.p)
		account.RecordProgress(d.o, d.p, true)
		account.RecordRehearsal(d.o, d.p, true)
	}},
	{decisionWriter, func(d *draft) { d.outcome = d.transition.Apply(d.o, d.p) }},
	{accountWriter, func(d *draft) { account.Conclude(d.o, d.p, d.outcome) }},
	{statusWriter, func(d *draft) { status.Conclude(d.o, d.p, d.outcome) }},
}

// staySteps plan for a job that stays in its phase. Counts are written together with a new reason for the
// wait or a new checkpoint, else when they are due.
var staySteps = []step{
	{accountWriter, func(d *draft) { d.counted = account.WatchLiveness(d.o, d.p) }},
	{decisionWriter, func(d *draft) {
		d.adopted = decision.ExcludeNodes(d.o, d.p)
		decision.Act(d.o, d.p)
		decision.WakeScheduler(d.o, d.p)
		d.adopted = decision.Follow(d.o, d.p) || d.adopted
	}},
	{statusWriter, func(d *draft) { d.waits = status.RefreshWait(d.o, d.p) }},
	{accountWriter, func(d *draft) { d.counted = account.Refresh(d.o, d.p) || d.counted }},
	{decisionWriter, func(d *draft) { d.counted = decision.SaveAhead(d.o, d.p) || d.counted }},
	{accountWriter, func(d *draft) {
		d.counted = account.RecordProgress(d.o, d.p, d.counted) || d.counted
		d.counted = account.RecordRehearsal(d.o, d.p, d.adopted || d.waits || d.counted) || d.counted
		if d.adopted || d.waits || d.counted {
			account.RecordLiveness(d.o, d.p)
		}
	}},
	{statusWriter, func(d *draft) { status.Refresh(d.o, d.p) }},
	{noWriter, func(d *draft) {
		if !d.adopted && !d.waits && !d.counted {
			status.HoldBack(d.o, d.p)
		}
	}},
	{statusWriter, func(d *draft) {
		status.DropPreemption(d.o, d.p)
		status.WriteForecast(d.o, d.p)
	}},
}

// decide implements Decide. A watch that is not nil runs each step.
func decide(s Snapshot, watch func(step, *draft)) Plan {
	if s.ManagedElsewhere() {
		p := decision.Dispatched(s)
		p.GangStatus = status.MirroredGangStatus(s.Job, s.Now)
		return *p
	}
	d := &draft{o: observation.Of(s)}
	d.p, d.transition = decision.NewPlan(d.o), decision.Next(d.o)
	steps := staySteps
	if d.transition != nil {
		steps = enterSteps
	}
	if watch == nil {
		watch = func(s step, d *draft) { s.do(d) }
	}
	for _, s := range steps {
		watch(s, d)
	}
	if t := d.transition; t != nil {
		from := cmp.Or(string(d.o.Job.Status.Phase), "new")
		d.p.Note("%s → %s (%s): %s", from, t.To, d.outcome.Reason, d.outcome.Message)
	} else {
		d.p.GangStatus = status.GangStatus(d.o)
	}
	return *d.p
}
