package liveness

import (
	"cmp"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Bounds of restarts.
const (
	// ConfirmedAfter is how long a gang must hang: there are two verdicts at least so far apart.
	ConfirmedAfter = time.Minute
	// LeaderTrustedAfter is how long a process must lead before it restarts a gang.
	LeaderTrustedAfter = 10 * time.Minute
	// MaxVainRestarts in a row.
	MaxVainRestarts = 2
	// RestartWindow is the time in which restarts of all jobs count, and in which gangs stop together.
	RestartWindow = 10 * time.Minute

	minRestartsInWindow, restartsInWindowPercent = 3, 5
	minTogether, togetherPercent                 = 3, 20
	causeLook                                    = time.Minute
)

// Hangs counts the hangs of all jobs, this one included.
type Hangs struct {
	// Watched jobs run with runPolicy.liveness.mode Warn or Act.
	Watched int
	// Together are the watched jobs that hang and stopped within 10 minutes of this one.
	Together int
	// Running gangs, watched or not.
	Running int
	// Restarts for hangs in the last 10 minutes.
	Restarts int
}

// Case is what the decision to restart a gang depends on.
type Case struct {
	Mode    v1alpha1.LivenessMode
	Verdict Verdict
	// Hung is for how long the state has been Hung, as the status records it; 0: this is the first verdict.
	Hung time.Duration
	// Leads is for how long this process has led, and TrustedAfter for how long it must; 0: LeaderTrustedAfter.
	Leads, TrustedAfter time.Duration
	// LongPhase is the limit of long phases, and of the delay by activity.
	LongPhase time.Duration
	// Restarts for hangs in the life of the job, at most MaxRestarts. InVain of them, the last ones in a row,
	// brought neither a higher step nor a newer checkpoint.
	Restarts, MaxRestarts, InVain int32
	// ReportedStep of rank 0's report of this attempt, which has been the same for ReportedAge; nil: none.
	ReportedStep *int64
	ReportedAge  time.Duration
	// Hangs is called at most once, and only if nothing else forbids a restart; nil: the counts are unknown.
	Hangs func() Hangs
}

// Hold is why the operator does not restart a gang.
type Hold string

// Reasons not to restart a gang, in the order in which they are looked for.
const (
	// HoldNone: the operator restarts the gang.
	HoldNone Hold = ""
	// HoldNotHung: the state is not Hung.
	HoldNotHung Hold = "NotHung"
	// HoldMode: the mode is not Act.
	HoldMode Hold = "Mode"
	// HoldMaxRestarts and HoldInVain end the restarts of the attempt: RestartDoesNotHelp.
	HoldMaxRestarts Hold = "MaxRestarts"
	HoldInVain      Hold = "InVain"
	// HoldReported: rank 0 has lately reported a higher step than the beats.
	HoldReported Hold = "Reported"
	// HoldLeader: the process has led for less than 10 minutes.
	HoldLeader Hold = "Leader"
	// HoldUnconfirmed: the gang has hung for less than a minute.
	HoldUnconfirmed Hold = "Unconfirmed"
	// HoldActive: a rank moves data, so a restart waits for LongPhase at most.
	HoldActive Hold = "Active"
	// HoldSharedCause: many gangs stopped together.
	HoldSharedCause Hold = "SharedCause"
	// HoldRate: the operator has restarted too many gangs for hangs in 10 minutes, or their number is unknown.
	HoldRate Hold = "Rate"
)

// Reason returns the reason of the condition Stalled for a gang that hangs and is not restarted.
func (h Hold) Reason() string {
	switch h {
	case HoldMaxRestarts, HoldInVain:
		return v1alpha1.ReasonRestartDoesNotHelp
	case HoldSharedCause:
		return v1alpha1.ReasonSharedCause
	}
	return v1alpha1.ReasonGangHung
}

// Choice is whether the operator restarts a gang.
type Choice struct {
	// Hold is why not; HoldNone: it restarts the gang.
	Hold Hold
	// Next is when to decide again if nothing else changes; 0: time alone changes nothing.
	Next time.Duration
}

// Restarts reports whether the operator restarts the gang.
func (c Choice) Restarts() bool { return c.Hold == HoldNone }

// MayRestart decides whether the operator restarts a gang that hangs.
func MayRestart(c Case) Choice { return mayRestart(c, allRules) }

func mayRestart(c Case, on rules) Choice {
	v := c.Verdict
	wait := func(hold Hold, next time.Duration) Choice {
		return Choice{Hold: hold, Next: max(next, shortestLook)}
	}
	switch {
	case v.State != v1alpha1.LivenessHung:
		return Choice{Hold: HoldNotHung}
	case on.has(onlyAct) && c.Mode != v1alpha1.LivenessAct:
		return Choice{Hold: HoldMode}
	case on.has(maxRestarts) && c.Restarts >= c.MaxRestarts:
		return Choice{Hold: HoldMaxRestarts}
	case on.has(vainRestarts) && c.InVain >= MaxVainRestarts:
		return Choice{Hold: HoldInVain}
	case on.has(reportRefutes) && c.reportedNewer():
		return wait(HoldReported, v.Limit-c.ReportedAge)
	case on.has(leaderTrusted) && c.Leads < c.trustedAfter():
		return wait(HoldLeader, c.trustedAfter()-c.Leads)
	case on.has(confirmed) && c.Hung < ConfirmedAfter:
		return wait(HoldUnconfirmed, ConfirmedAfter-c.Hung)
	case on.has(activityDelays) && v.Active && (c.Hung < c.LongPhase || !on.has(delayEnds)):
		return wait(HoldActive, min(c.LongPhase-c.Hung, causeLook))
	}
	return c.withinCluster(on)
}

func (c Case) trustedAfter() time.Duration { return cmp.Or(c.TrustedAfter, LeaderTrustedAfter) }

// withinCluster applies the bounds of the cluster.
func (c Case) withinCluster(on rules) Choice {
	if c.Hangs == nil {
		return Choice{Hold: HoldRate, Next: causeLook}
	}
	h := c.Hangs()
	switch {
	case on.has(sharedCause) && h.SharedCause():
		return Choice{Hold: HoldSharedCause, Next: causeLook}
	case on.has(restartRate) && h.Restarts >= max(minRestartsInWindow, h.Running*restartsInWindowPercent/100):
		return Choice{Hold: HoldRate, Next: causeLook}
	}
	return Choice{}
}

// SharedCause reports whether so many gangs stopped together that storage or network is the likelier cause: 3
// at least, and 20% of the watched ones.
func (h Hangs) SharedCause() bool {
	return h.Together >= minTogether && h.Together*100 >= h.Watched*togetherPercent
}

// reportedNewer reports whether rank 0 has lately reported a higher step than all beats have. An old one
// proves nothing: a trainer can count differently in its reports and in its beats.
func (c Case) reportedNewer() bool {
	if c.ReportedStep == nil || c.ReportedAge >= c.Verdict.Limit {
		return false
	}
	return c.Verdict.Step == nil || *c.ReportedStep > *c.Verdict.Step
}
