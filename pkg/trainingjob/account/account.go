// Package account counts the ranks and their restarts, the training's progress and checkpoints, and the time
// that the job waited, ran and lost. Later reconciles and the preemption planner read these fields.
//
// Every function reads an observation.Observation and writes into a decision.Plan. Times in a status have
// whole seconds, and nothing is counted twice, however often it is observed: each change of phase is counted
// in the write that makes the change.
package account

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Refresh counts for a plan without a transition. It reports whether it recorded data that must be written
// now, because it is lost with its pod.
func Refresh(o *observation.Observation, p *decision.Plan) bool {
	countRanks(o, p, false)
	p.Status.RankRestarts, p.Status.Restarts = o.RankRestarts(), o.Restarts()
	news := RecordCheckpoints(o, p)
	return recordDrain(o, p) || news || mustRemember(o)
}

// mustRemember reports whether a rank's success is lost with its pod.
func mustRemember(o *observation.Observation) bool {
	for i := range o.Ranks {
		if o.MustRemember(&o.Ranks[i]) {
			return true
		}
	}
	return false
}

// Conclude counts what a transition ends or begins.
func Conclude(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	concludeRestarts(o, p, outcome)
	concludeCheckpoints(o, p, outcome)
	concludeLiveness(o, p, outcome)
	recordDrain(o, p)
	recordWork(o, p, outcome)
	if len(o.Rejected) == 0 {
		countRanks(o, p, outcome.NewAttempt)
	}
}

// concludeRestarts spends one restart for an attempt that a failure ended.
func concludeRestarts(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	st := &p.Status
	d := o.Job.Status.Drain // nil in a damaged status
	if outcome.Settled && outcome.NewAttempt && d != nil && d.Cause == v1alpha1.CauseFailure {
		st.Restarts++
	}
	if outcome.RestartsSpent {
		st.Restarts, st.RankRestarts = o.Restarts(), o.ContainerRestarts()
	}
	if outcome.Submitted {
		st.RankRestarts = 0
	}
}

// concludeCheckpoints makes the settled resume point the latest checkpoint. It drops one outside of the place
// that spec.checkpoint names.
func concludeCheckpoints(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	cs := p.Status.Checkpoint
	if cs == nil || spec.Checkpoints(o.Job) == nil {
		return
	}
	if outcome.Settled {
		cs.Latest = outcome.ResumePoint.DeepCopy()
	}
	if outcome.Submitted && cs.Latest != nil && !spec.OwnsCheckpoint(o.Job, cs.Latest.URI) {
		cs.Latest = nil
	}
}
