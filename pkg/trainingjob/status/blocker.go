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

// BlockerRefresh is the shortest time between two writes of an unchanged reason's message and numbers. It is
// also how often a waiting job is reconciled without an event, since most waits depend on other objects. Each
// job that starts or ends can change the numbers of all waiting jobs. So together they refresh at most once
// in blockerRefreshPerJob: each of 10,000 jobs every 5 minutes.
const (
	BlockerRefresh       = time.Minute
	blockerRefreshPerJob = 30 * time.Millisecond
)

func blockerRefresh(o *observation.Observation) time.Duration {
	return max(BlockerRefresh, time.Duration(o.Waiting)*blockerRefreshPerJob)
}

// refreshBlocker keeps the one reason why the job waits, and records one event for a new one. Two blockers
// are the same if their reason and object are. The message is refreshed at most once in blockerRefresh, so
// that a scheduler that changes its message every second causes no writes. It reports whether it changed
// the status.
func refreshBlocker(o *observation.Observation, p *decision.Plan) bool {
	st := &p.Status
	if st.Phase.Finished() {
		return false
	}
	wakeForHanging(o, p)
	queued := st.Phase == v1alpha1.PhaseQueued
	if queued && (!lookForReason(o, p) || decision.JustWoken(o, p)) {
		return false
	}
	old := currentBlocker(p)
	now, blocked := blocker(o)
	if !blocked {
		now, blocked = hangBlocker(o, p)
	}
	if blocked && queued {
		p.WakeAt(o.Now.Add(blockerRefresh(o)))
	} else if slow, starts := startsSlowlyAt(o); starts && !queued && o.Now.Before(slow) {
		p.WakeAt(slow) // see slowStart
	}
	if old == nil && !blocked {
		return false
	}
	same := old != nil && blocked && old.Reason == now.Reason && old.Object == now.Object
	reported := same && old.ObservedTime != nil
	if reported && sameText(old, &now) {
		return false
	}
	due := blockerDue(o, old, now.Reason, same)
	if blocked && hasCapacityNow(old, now) {
		due = slices.MaxFunc([]time.Time{due, capacityStandsAt(o, p, now.Reason)}, time.Time.Compare)
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
	writeBlocker(o, p, now, reported)
	return true
}

// lookForReason reports whether a queued job has waited long enough to need a reason. It has not while its
// pods change, which mostly ends the wait, nor once it has its nodes.
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

// The operator reports WaitingBehind only after this delay, which grows with the number of waiting gangs. The
// reason holds for every gang of a burst, and the API server and the scheduler are busy then.
const (
	minBurstDelay    = 20 * time.Second
	maxBurstDelay    = time.Minute
	burstDelayPerJob = 500 * time.Millisecond
)

func burstDelay(o *observation.Observation) time.Duration {
	return min(max(minBurstDelay, time.Duration(o.Waiting)*burstDelayPerJob), maxBurstDelay)
}

// blockerDue returns when a reason can be written. The reason that every attempt begins with is written only
// if it lasts.
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

// hasCapacityNow reports whether the reported reason is a lack of capacity, and the new reason is another
// one.
func hasCapacityNow(old *v1alpha1.Blocker, now v1alpha1.Blocker) bool {
	if old == nil || old.ObservedTime == nil {
		return false
	}
	switch old.Reason {
	case v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded:
		return slices.Contains(withCapacity, now.Reason)
	}
	return false
}

// withCapacity lists reasons of gangs for which there is capacity. SchedulerRests is not among them: it
// implies that the capacity has been free for a while.
var withCapacity = []string{
	v1alpha1.ReasonWaitingBehind, v1alpha1.ReasonNotJudged, v1alpha1.ReasonWaitingInQueue,
	v1alpha1.ReasonUnschedulable,
}

// capacityStandsAt returns when the capacity has been free long enough to report it. Between the end of one
// gang and the start of the next, capacity is free for a moment, and reporting it to all waiting jobs costs
// many writes.
func capacityStandsAt(o *observation.Observation, p *decision.Plan, reason string) time.Time {
	p.OtherReason = o.OtherReason
	if p.OtherReason == nil || p.OtherReason.Reason != reason {
		p.OtherReason = &observation.OtherReason{Reason: reason, Since: o.Now}
	}
	return p.OtherReason.Since.Add(observation.StatusDelay)
}

func sameText(a, b *v1alpha1.Blocker) bool {
	return a.Message == b.Message && a.NextStep == b.NextStep &&
		apiequality.Semantic.DeepEqual(a.Need, b.Need) && apiequality.Semantic.DeepEqual(a.Free, b.Free)
}

// transient reasons end by themselves. Every other one is a warning, since a user or an admin must act.
var transient = []string{
	v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonWaitingBehind,
	v1alpha1.ReasonSchedulerRests, v1alpha1.ReasonRoomReserved,
	v1alpha1.ReasonWaitingInQueue, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonNotJudged,
	v1alpha1.ReasonTerminating, v1alpha1.ReasonAdmissionCheckPending,
	v1alpha1.ReasonContainerCreating,
}

// writeBlocker writes a reason, and adds one event unless the reason was reported already. A reason that
// returns within the attempt causes no further event.
func writeBlocker(o *observation.Observation, p *decision.Plan, b v1alpha1.Blocker, reported bool) {
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
	if reported {
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
