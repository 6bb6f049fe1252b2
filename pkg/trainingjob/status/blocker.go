package status

import (
	"fmt"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// BlockerRefresh is the shortest time between two writes of an unchanged reason's message and numbers, and
// how often a waiting job is reconciled although nothing happens to it: mostly, it waits for objects of
// others. Where thousands wait, every job that starts or ends may change the numbers of all of them: together
// they look no more often than once in blockerRefreshPerJob, which are 5 minutes with 10,000.
const (
	BlockerRefresh       = time.Minute
	blockerRefreshPerJob = 30 * time.Millisecond
)

func blockerRefresh(o *observation.Observation) time.Duration {
	return max(BlockerRefresh, time.Duration(o.Waiting)*blockerRefreshPerJob)
}

// refreshBlocker keeps the one reason why the job waits, and records one event for a new one. Two blockers
// are the same if their reason and object are. The message is refreshed at most once in blockerRefresh, so
// that a scheduler that rewords its complaint every second causes no writes. It reports whether it changed
// the status.
func refreshBlocker(o *observation.Observation, p *decision.Plan) bool {
	st := &p.Status
	if st.Phase.Finished() {
		return false
	}
	queued := st.Phase == v1alpha1.PhaseQueued
	if queued && (!lookForReason(o, p) || decision.JustWoken(o, p)) {
		return false
	}
	old := currentBlocker(p)
	now, blocked := blocker(o)
	switch slow := o.PhaseSince().Add(slowStartDelay); {
	case blocked && queued:
		p.WakeAt(o.Now.Add(blockerRefresh(o)))
	case st.Phase == v1alpha1.PhaseStarting && o.Now.Before(slow):
		p.WakeAt(slow) // see slowStart
	}
	if old == nil && !blocked {
		return false
	}
	same := old != nil && blocked && old.Reason == now.Reason && old.Object == now.Object
	told := same && old.ObservedTime != nil
	if told && sameText(old, &now) {
		return false
	}
	due := blockerDue(o, old, now.Reason, same)
	if blocked && meetsRoom(old, now) {
		due = latest(due, roomLastsAt(o, p, now.Reason))
	}
	if o.Now.Before(due) {
		p.WakeAt(due)
		return false
	}
	if !blocked {
		if !queued { // there, the transition that ends the wait clears it at no extra cost
			st.Scheduling.Blocker = nil
		}
		return !queued
	}
	writeBlocker(o, p, now, told)
	return true
}

// lookForReason reports whether a queued job has waited long enough to ask why. Pods that come and go are
// mostly the end of the wait, a job that starts at once asks for no reason, and one that has its nodes has
// none.
func lookForReason(o *observation.Observation, p *decision.Plan) bool {
	switch {
	case len(p.Create) > 0:
		p.WakeAt(o.Now.Add(observation.ReasonDelay(o.Job)))
	case o.Now.Before(o.ReasonStandsAt()):
		p.WakeAt(o.ReasonStandsAt())
	case o.EnoughPlaced():
		p.WakeAt(o.PlacedSlowlyAt())
	default:
		return true
	}
	return false
}

// A gang is queued for so long until it is told what every gang of a burst could be told: that others come
// before it. The API server and the scheduler have enough to do then, and the more the more gangs there are.
const (
	minBurstDelay    = 20 * time.Second
	maxBurstDelay    = time.Minute
	burstDelayPerJob = 500 * time.Millisecond
)

func burstDelay(o *observation.Observation) time.Duration {
	return min(max(minBurstDelay, time.Duration(o.Waiting)*burstDelayPerJob), maxBurstDelay)
}

// blockerDue is when a reason may be written. The one that every attempt begins with is written only when it
// lasts.
func blockerDue(o *observation.Observation, old *v1alpha1.Blocker, reason string, same bool) time.Time {
	switch {
	case !same && reason == v1alpha1.ReasonWaitingBehind:
		return o.PhaseSince().Add(burstDelay(o))
	case !same:
		return o.ReasonStandsAt()
	case old.ObservedTime == nil:
		return o.PhaseSince().Add(BlockerRefresh)
	}
	return old.ObservedTime.Add(blockerRefresh(o))
}

// meetsRoom reports whether a gang that was told that it lacks room seems to lack none.
func meetsRoom(old *v1alpha1.Blocker, now v1alpha1.Blocker) bool {
	if old == nil || old.ObservedTime == nil {
		return false
	}
	switch old.Reason {
	case v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded:
		return slices.Contains(withRoom, now.Reason)
	}
	return false
}

// withRoom are reasons why gangs wait for which there is room. SchedulerRests is none of them: it says that
// the room has been there for a while.
var withRoom = []string{
	v1alpha1.ReasonWaitingBehind, v1alpha1.ReasonNotJudged, v1alpha1.ReasonWaitingInQueue,
	v1alpha1.ReasonUnschedulable,
}

// roomLastsAt is when the room has lasted for long enough. Between the end of one gang and the beginning of
// the next there is room for a moment, for all that wait: to tell each of them so, and then that it lacks
// room after all, takes four writes.
func roomLastsAt(o *observation.Observation, p *decision.Plan, reason string) time.Time {
	p.OtherReason = o.OtherReason
	if p.OtherReason == nil || p.OtherReason.Reason != reason {
		p.OtherReason = &observation.OtherReason{Reason: reason, Since: o.Now}
	}
	return p.OtherReason.Since.Add(observation.StatusDelay)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sameText(a, b *v1alpha1.Blocker) bool {
	return a.Message == b.Message && a.NextStep == b.NextStep &&
		apiequality.Semantic.DeepEqual(a.Need, b.Need) && apiequality.Semantic.DeepEqual(a.Free, b.Free)
}

// transient reasons end by themselves. Every other one is a warning, since somebody must act.
var transient = []string{
	v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonWaitingBehind,
	v1alpha1.ReasonSchedulerRests, v1alpha1.ReasonRoomReserved,
	v1alpha1.ReasonWaitingInQueue, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonNotJudged,
	v1alpha1.ReasonTerminating, v1alpha1.ReasonAdmissionCheckPending,
	v1alpha1.ReasonContainerCreating,
}

// writeBlocker writes a reason, and tells of it by one event unless it was told already. A reason that
// returns within the attempt is not told again.
func writeBlocker(o *observation.Observation, p *decision.Plan, b v1alpha1.Blocker, told bool) {
	st := &p.Status
	if st.Scheduling == nil {
		st.Scheduling = &v1alpha1.SchedulingStatus{Queue: spec.Queue(o.Job)}
	}
	t := o.Time()
	b.ObservedTime = &t
	st.Scheduling.Blocker = &b
	if st.Phase != v1alpha1.PhaseRunning {
		st.Message = "waiting: " + b.Message
	}
	setConditions(o, p, "")
	if told {
		return
	}
	p.Note("waits: %s: %s", b.Reason, b.Message)
	message := b.Message
	if b.NextStep != "" {
		message = fmt.Sprintf("%s; %s", b.Message, b.NextStep)
	}
	p.Events = append(p.Events, decision.Event{
		Warning: !slices.Contains(transient, b.Reason), Reason: b.Reason, Action: "Wait", Message: message,
		Once: b.Reason + " " + b.Object,
	})
}
