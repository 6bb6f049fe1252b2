package decision

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Transition is one row of the table: in one of the phases From, when the guard holds, the job goes to phase
// To.
type Transition struct {
	From []v1alpha1.Phase
	When Guard
	To   v1alpha1.Phase
	// apply writes the other changes of the status and returns the outcome.
	apply func(*observation.Observation, *Plan) Outcome
}

var (
	unqueued   = []v1alpha1.Phase{"", v1alpha1.PhasePending}
	unstarted  = []v1alpha1.Phase{"", v1alpha1.PhasePending, v1alpha1.PhaseSuspended}
	active     = []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning}
	draining   = []v1alpha1.Phase{v1alpha1.PhaseDraining}
	restarting = []v1alpha1.Phase{v1alpha1.PhaseRestarting}
	suspended  = []v1alpha1.Phase{v1alpha1.PhaseSuspended}
	starting   = []v1alpha1.Phase{v1alpha1.PhaseStarting}
	placed     = []v1alpha1.Phase{v1alpha1.PhaseStarting, v1alpha1.PhaseRunning}
	running    = []v1alpha1.Phase{v1alpha1.PhaseRunning}
	queued     = []v1alpha1.Phase{v1alpha1.PhaseQueued}
	notRunning = []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseStarting}
)

// table has every transition; the first row that matches wins. The order ranks the reasons: success before
// loss, a disruption before a failure (the peers of a rank on a dying node exit 1 first), and both before
// requests of users.
var table = []Transition{
	{unstarted, invalid, v1alpha1.PhaseFailed, failInvalid},

	{unqueued, wantsSuspend, v1alpha1.PhaseSuspended, suspend},
	{unqueued[:1], noScheduler, v1alpha1.PhasePending, wait},
	{unqueued, hasScheduler, v1alpha1.PhaseQueued, queue},

	{active, rehearsalPassed, v1alpha1.PhaseSucceeded, endRehearsal},
	{active, rehearsalNotPassed, v1alpha1.PhaseFailed, endRehearsal},
	{active, succeeded, v1alpha1.PhaseSucceeded, succeed},
	{running, pastDeadline, v1alpha1.PhaseFailed, failDeadline},
	{active, lostRank, v1alpha1.PhaseDraining, drainLoss},
	{active, failedRank, v1alpha1.PhaseDraining, drainFailure},
	{active, restartsSpent, v1alpha1.PhaseDraining, drainRestartsSpent},
	{active, evicted, v1alpha1.PhaseDraining, drainEviction},
	{running, hung, v1alpha1.PhaseDraining, drainHang},
	{placed, givesWay, v1alpha1.PhaseDraining, drainVictim},
	{queued, wantsSuspendIdle, v1alpha1.PhaseSuspended, suspend},
	{active, wantsSuspend, v1alpha1.PhaseDraining, drainSuspend},
	{active, specChanged, v1alpha1.PhaseDraining, drainSpecChange},
	{active, restartWanted, v1alpha1.PhaseDraining, drainRestart},
	{running, rehearsalDue, v1alpha1.PhaseDraining, drainRehearsal},
	{notRunning, gangUp, v1alpha1.PhaseRunning, run},
	{queued, placedSlowly, v1alpha1.PhaseStarting, start},
	{queued, scheduleTimeout, v1alpha1.PhaseDraining, drainTimeout},
	{queued, handsOver, v1alpha1.PhaseDraining, drainToHandOver},
	{starting, startTimeout, v1alpha1.PhaseDraining, drainStartTimeout},

	{draining, succeededBefore, v1alpha1.PhaseSucceeded, succeedAnyway},
	{draining, disruptionSeen, v1alpha1.PhaseDraining, upgradeDrain},
	{draining, failedFirst, v1alpha1.PhaseDraining, blameOther},
	{draining, completed, v1alpha1.PhaseSucceeded, succeedDrained},
	{draining, resumePointUnknown, v1alpha1.PhaseDraining, beginSearch},
	{draining, searchFailed, v1alpha1.PhaseDraining, searchAgain},
	{draining, rehearsalPassed, v1alpha1.PhaseSucceeded, settleRehearsal},
	{draining, rehearsalNotPassed, v1alpha1.PhaseFailed, settleRehearsal},
	{draining, drained(causeIs(v1alpha1.CauseSuspend)), v1alpha1.PhaseSuspended, settleSuspend},
	{draining, drained(permanent), v1alpha1.PhaseFailed, settleFailed},
	{draining, drained(backoffFirst), v1alpha1.PhaseRestarting, settleBackoff},
	{draining, drained(otherwise), v1alpha1.PhaseQueued, settleQueue},

	{restarting, wantsSuspend, v1alpha1.PhaseSuspended, suspend},
	{restarting, backoffOver, v1alpha1.PhaseQueued, queueAgain},

	{suspended, requestOpen, v1alpha1.PhaseDraining, drainToSearch},
	{suspended, wantsResume, v1alpha1.PhaseQueued, resume},
}

// Next returns the transition that the job makes now; nil if it stays in its phase.
func Next(o *observation.Observation) *Transition {
	for i := range table {
		if t := &table[i]; slices.Contains(t.From, o.Job.Status.Phase) && t.When.Holds(o) {
			return t
		}
	}
	return nil
}

// Enter sets the transition's phase in the plan and clears the fields of the former phase. Observations must
// be recorded in the plan's status between Enter and Apply, since the outcome uses them.
func (t *Transition) Enter(p *Plan) {
	p.Transition = true
	p.Status.Phase = t.To
	if t.To != v1alpha1.PhaseDraining {
		p.Status.Drain = nil
	}
	if t.To != v1alpha1.PhaseRestarting {
		p.Status.NextAttemptTime = nil
	}
	if p.Status.Scheduling != nil {
		p.Status.Scheduling.KeepsPlace = false
	}
}

// Apply writes the other changes of the transition, and the job's history.
func (t *Transition) Apply(o *observation.Observation, p *Plan) Outcome {
	outcome := t.apply(o, p)
	if o.Job.Status.Phase != t.To {
		st := &p.Status
		st.Transitions = record(st.Transitions,
			v1alpha1.Transition{Time: o.Time(), Phase: t.To, Reason: outcome.Reason})
	}
	return outcome
}
