package trainingjob

import (
	"cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/status"
)

type (
	// Snapshot is everything that Decide may depend on.
	Snapshot = observation.Snapshot
	// Plan is what is to be done.
	Plan = decision.Plan
)

// Decide says what is to be done for a job, from what is known of it. It is pure: the same snapshot gives the
// same plan, and a plan that was carried out in part or not at all leads to the same end.
func Decide(s Snapshot) Plan {
	if s.ManagedElsewhere() {
		p := decision.Dispatched(s)
		p.GangStatus = status.MirroredGangStatus(s.Job, s.Now)
		return *p
	}
	o := observation.Of(s)
	p := decision.NewPlan(o)
	if t := decision.Next(o); t != nil {
		transition(o, p, t)
	} else {
		decision.Act(o, p)
		decision.WakeScheduler(o, p)
		status.Refresh(o, p)
		p.GangStatus = status.GangStatus(o)
	}
	return *p
}

// transition plans a change of phase. Only the status is written; what follows from it happens in the next
// reconcile.
func transition(o *observation.Observation, p *Plan, t *decision.Transition) {
	t.Enter(p)
	status.RecordCheckpoints(o, p)
	status.RecordProgress(o, p, true)
	outcome := t.Apply(o, p)
	status.RecordDrain(o, p)
	status.RecordWork(o, p, outcome)
	if len(o.Rejected) == 0 {
		status.Count(o, p, outcome.Fresh)
	}
	p.Status.Message = cmp.Or(outcome.Message, p.Status.Message)
	status.Conditions(o, p, outcome.Reason)
	from := cmp.Or(string(o.Job.Status.Phase), "new")
	p.Note("%s → %s (%s): %s", from, t.To, outcome.Reason, outcome.Message)
}
