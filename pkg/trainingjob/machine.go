package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// guard is a named condition on one pass.
type guard struct {
	name  string
	holds func(*pass) bool
}

// transition is one row of the machine: in one of the phases from, when the guard holds, the job goes to phase to. The
// effect fills in what else the same write must hold.
type transition struct {
	from   []v1alpha1.Phase
	when   guard
	to     v1alpha1.Phase
	effect func(*pass)
}

var (
	fresh     = []v1alpha1.Phase{"", v1alpha1.PhasePending}
	placing   = []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning}
	draining  = []v1alpha1.Phase{v1alpha1.PhaseDraining}
	resting   = []v1alpha1.Phase{v1alpha1.PhaseRestarting}
	suspended = []v1alpha1.Phase{v1alpha1.PhaseSuspended}
	queued    = []v1alpha1.Phase{v1alpha1.PhaseQueued}
	unplaced  = []v1alpha1.Phase{v1alpha1.PhaseQueued, v1alpha1.PhaseStarting}
	unended   = []v1alpha1.Phase{"", v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseStarting,
		v1alpha1.PhaseRunning, v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended}
)

// machine is every way from one phase to another; the first row that matches wins. The order is the order of rank of the
// reasons: success before loss, a disruption before a failure (a dying node's peers exit 1 first), both before wishes.
var machine = []transition{
	{unended, invalid, v1alpha1.PhaseFailed, (*pass).failInvalid},
	{unended, pastDeadline, v1alpha1.PhaseFailed, (*pass).failDeadline},

	{fresh, wantsSuspend, v1alpha1.PhaseSuspended, (*pass).suspend},
	{fresh[:1], noScheduler, v1alpha1.PhasePending, (*pass).wait},
	{fresh, hasScheduler, v1alpha1.PhaseQueued, (*pass).queue},

	{placing, succeeded, v1alpha1.PhaseSucceeded, (*pass).succeed},
	{placing, lostRank, v1alpha1.PhaseDraining, (*pass).drainLoss},
	{placing, failedRank, v1alpha1.PhaseDraining, (*pass).drainFailure},
	{placing, restartsSpent, v1alpha1.PhaseDraining, (*pass).drainRestartsSpent},
	{placing, evicted, v1alpha1.PhaseDraining, (*pass).drainEviction},
	{queued, wantsSuspendIdle, v1alpha1.PhaseSuspended, (*pass).suspend},
	{placing, wantsSuspend, v1alpha1.PhaseDraining, (*pass).drainSuspend},
	{placing, specChanged, v1alpha1.PhaseDraining, (*pass).drainSpecChange},
	{placing, restartWanted, v1alpha1.PhaseDraining, (*pass).drainRestart},
	{unplaced, gangUp, v1alpha1.PhaseRunning, (*pass).run},
	{queued, placedSlowly, v1alpha1.PhaseStarting, (*pass).start},
	{queued, scheduleTimeout, v1alpha1.PhaseDraining, (*pass).drainTimeout},

	{draining, disruptionSeen, v1alpha1.PhaseDraining, (*pass).upgradeDrain},
	{draining, completed, v1alpha1.PhaseSucceeded, (*pass).succeedDrained},
	{draining, unheard, v1alpha1.PhaseDraining, (*pass).beginSearch},
	{draining, searchFailed, v1alpha1.PhaseDraining, (*pass).searchAgain},
	{draining, drained(causeIs(v1alpha1.CauseSuspend)), v1alpha1.PhaseSuspended, (*pass).settleSuspend},
	{draining, drained(permanent), v1alpha1.PhaseFailed, (*pass).settleFailed},
	{draining, drained(backoffFirst), v1alpha1.PhaseRestarting, (*pass).settleBackoff},
	{draining, drained(otherwise), v1alpha1.PhaseQueued, (*pass).settleQueue},

	{resting, wantsSuspend, v1alpha1.PhaseSuspended, (*pass).suspend},
	{resting, backoffOver, v1alpha1.PhaseQueued, (*pass).queueAgain},

	{suspended, wantsResume, v1alpha1.PhaseQueued, (*pass).resume},
}

var (
	invalid = guard{"the spec is invalid, or says what its scheduler cannot", func(p *pass) bool { return len(p.invalid) > 0 }}

	pastDeadline = guard{"activeDeadlineSeconds have passed since startTime", func(p *pass) bool {
		at, ok := p.deadline()
		return ok && !p.Now.Before(at)
	}}

	noScheduler  = guard{"the cluster does not serve what the scheduler needs, or no agent is configured for a job with checkpoints", func(p *pass) bool { return p.Backend == nil }}
	hasScheduler = guard{"a scheduler is there", func(p *pass) bool { return p.Backend != nil }}

	wantsSuspend     = guard{"suspend is true", func(p *pass) bool { return Suspended(p.job) }}
	wantsSuspendIdle = guard{"suspend is true and there is no pod", func(p *pass) bool {
		return Suspended(p.job) && len(p.Pods) == 0
	}}
	wantsResume = guard{"suspend is no longer true and a scheduler is there", func(p *pass) bool {
		return !Suspended(p.job) && p.Backend != nil
	}}

	succeeded = guard{"the leader, or else every Worker, exited 0", func(p *pass) bool { return p.succeeded() }}

	lostRank = guard{"a rank was lost to a disruption (scope Rank: fewer than minAvailable are left)", func(p *pass) bool {
		return len(p.lost) > 0 && (p.scope == v1alpha1.ScopeGang || p.leftover() < p.min)
	}}
	failedRank = guard{"a rank failed by itself (scope Rank: and its policy ends the gang)", func(p *pass) bool {
		return len(p.failed) > 0
	}}
	restartsSpent = guard{"containers were restarted more often than backoffLimit (scope Rank)", func(p *pass) bool {
		return p.scope == v1alpha1.ScopeRank && p.restartsNow() > BackoffLimit(p.job)
	}}
	evicted = guard{"the scheduler asks for the places of the gang's pods back", func(p *pass) bool {
		return p.Verdict.Admission == scheduler.Yield && len(p.obs.live) > 0
	}}

	specChanged = guard{"the spec is not the one the attempt was made from (a resize)", func(p *pass) bool {
		return p.job.Status.Revision != p.revision
	}}
	restartWanted = guard{"the restart annotation has a new value", func(p *pass) bool {
		return p.job.Annotations[v1alpha1.AnnotationRestart] != p.job.Status.RestartRequest
	}}

	gangUp = guard{"at least minAvailable ranks run", func(p *pass) bool { return p.obs.up() >= p.min }}

	// Starting is a state worth a write only when it lasts: a gang that is up within StatusDelay goes from Queued to Running.
	placedSlowly = guard{"at least minAvailable ranks are placed, for 5 s", func(p *pass) bool {
		return p.obs.placed() >= p.min && p.settled()
	}}

	scheduleTimeout = guard{"scheduleTimeoutSeconds have passed in the queue", func(p *pass) bool {
		at, ok := p.scheduleDeadline()
		return ok && p.obs.placed() < p.min && !p.Now.Before(at)
	}}

	disruptionSeen = guard{"it drains for a failure, and a disruption proves to be the cause", func(p *pass) bool {
		return p.drainCause() == v1alpha1.CauseFailure && len(p.lost) > 0
	}}

	backoffOver = guard{"the backoff is over", func(p *pass) bool {
		t := p.job.Status.NextAttemptTime
		return (t == nil || !p.Now.Before(t.Time)) && p.Backend != nil
	}}
)

// drained narrows a guard to the moment when no pod runs any more, and what they saved is known or will not be: only then are the
// cause and the resume point settled.
func drained(g guard) guard {
	return guard{"every pod has ended, " + g.name, func(p *pass) bool {
		return len(p.obs.live) == 0 && p.resumePointKnown() && g.holds(p)
	}}
}

var (
	completed = guard{"every pod has ended, none by its own failure, and rank 0 said that every step is trained and exited 0", func(p *pass) bool {
		d := p.job.Status.Drain
		return len(p.obs.live) == 0 && p.drainCause() != v1alpha1.CauseFailure && (p.ev.completed || d != nil && d.Completed)
	}}
	unheard = guard{"every pod has ended, and rank 0 has not said what it saved: its volume is searched", func(p *pass) bool {
		return len(p.obs.live) == 0 && p.job.Status.Drain != nil && p.search() == nil && !p.resumePointKnown()
	}}
	searchFailed = guard{"searching the volume has failed, and not for the last time", func(p *pass) bool {
		return p.search() != nil && p.ev.searchFailed && !p.resumePointKnown()
	}}
)

func causeIs(c v1alpha1.DrainCause) guard {
	return guard{"cause " + string(c), func(p *pass) bool { return p.drainCause() == c }}
}

var (
	permanent = guard{"the failure is permanent or backoffLimit is spent", func(p *pass) bool {
		d := p.job.Status.Drain
		return p.drainCause() == v1alpha1.CauseFailure && (d.Permanent || p.job.Status.Restarts >= BackoffLimit(p.job))
	}}
	backoffFirst = guard{"and the cause asks for a backoff", func(p *pass) bool { return p.backoff() > 0 }}
	otherwise    = guard{"and the gang may return at once", func(*pass) bool { return true }}
)

// succeeded is the leader's exit 0, or every Worker's where no role leads, or every rank's where there is no Worker.
func (p *pass) succeeded() bool {
	decisive := func(r v1alpha1.Role) bool { return true }
	if hasLeader(p.obs.roles) {
		decisive = Leads
	} else if hasWorker(p.obs.roles) {
		decisive = func(r v1alpha1.Role) bool { return r == v1alpha1.RoleWorker }
	}
	for i := range p.obs.ranks {
		if r := &p.obs.ranks[i]; decisive(r.Role) && r.state != rankSucceeded {
			return false
		}
	}
	return true
}

// leftover counts what is left of the gang under scope Rank: ranks that hold a node or have done their part.
func (p *pass) leftover() int32 { return p.obs.placed() }

// StatusDelay is how long a change of counts or of a blocker must stand before it is written: most are overtaken by a
// transition, which carries them for nothing.
const StatusDelay = 5 * time.Second

// settled says that no pod has changed for StatusDelay. A pod whose clock runs ahead does not hold it up.
func (p *pass) settled() bool {
	return !p.Now.Before(p.settlesAt())
}

func (p *pass) settlesAt() time.Time {
	changed := p.obs.changed
	if changed.After(p.Now) {
		changed = p.Now.Truncate(time.Second)
	}
	if since := p.phaseSince(); since.After(changed) {
		changed = since
	}
	return changed.Add(StatusDelay)
}

// phaseSince is when the job entered its phase; zero before the first one.
func (p *pass) phaseSince() time.Time {
	if n := len(p.job.Status.Transitions); n > 0 {
		return p.job.Status.Transitions[n-1].Time.Time
	}
	return time.Time{}
}

func (p *pass) deadline() (time.Time, bool) {
	s, start := p.job.Spec.RunPolicy.ActiveDeadlineSeconds, p.job.Status.StartTime
	if s == nil || start == nil {
		return time.Time{}, false
	}
	return start.Add(time.Duration(*s) * time.Second), true
}

func (p *pass) scheduleDeadline() (time.Time, bool) {
	s := p.job.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds
	if s == nil || *s == 0 {
		return time.Time{}, false
	}
	return p.phaseSince().Add(time.Duration(*s) * time.Second), true
}

func (p *pass) drainCause() v1alpha1.DrainCause {
	if d := p.job.Status.Drain; d != nil {
		return d.Cause
	}
	return ""
}
