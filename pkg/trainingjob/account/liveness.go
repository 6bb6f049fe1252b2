package account

import (
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

const (
	// livenessDelay is the shortest time between two writes of status.liveness alone.
	livenessDelay = time.Minute
	// sameStop is the largest difference of two times of the last progress that are taken for the same.
	sameStop = time.Minute
)

// WatchLiveness records the verdict about a running gang if its state, its suspects or a counter has changed,
// at most once in livenessDelay. It reports whether it changed the status. Other writes record it too, see
// RecordLiveness.
func WatchLiveness(o *observation.Observation, p *decision.Plan) bool {
	st := &p.Status
	switch {
	case st.Phase.Finished():
		return false
	case o.LivenessMode == v1alpha1.LivenessOff:
		st.Liveness = nil
		return false
	case o.Liveness == nil:
		forgetVerdict(st)
		return false
	}
	now := livenessNow(o)
	if !differs(st.Liveness, now) {
		return false
	}
	due := o.PhaseSince().Add(livenessDelay)
	if l := st.Liveness; l != nil && l.ObservedTime != nil && l.State != "" {
		due = l.ObservedTime.Add(livenessDelay)
	}
	if o.Now.Before(due) {
		p.WakeAt(due)
		return false
	}
	st.Liveness = now
	return true
}

// RecordLiveness records the verdict about a running gang together with another change of the status.
func RecordLiveness(o *observation.Observation, p *decision.Plan) {
	if o.Liveness != nil && !unknownYet(o) {
		p.Status.Liveness = livenessNow(o)
	}
}

// differs reports whether a write of status.liveness alone is worth it.
func differs(old, now *v1alpha1.LivenessStatus) bool {
	if old == nil {
		old = &v1alpha1.LivenessStatus{}
	}
	sameSuspects := slices.EqualFunc(old.Suspects, now.Suspects, func(a, b v1alpha1.Suspect) bool {
		return a.Pod == b.Pod && a.Node == b.Node && a.Evidence == b.Evidence
	})
	return old.State != now.State || !sameSuspects ||
		old.RestartsWithoutProgress != now.RestartsWithoutProgress ||
		!apiequality.Semantic.DeepEqual(old.NamedNodes, now.NamedNodes)
}

// unknownYet reports whether the state is unknown because the beats of the ranks cannot have arrived: a new
// leader keeps what the former one recorded.
func unknownYet(o *observation.Observation) bool {
	return o.Liveness.State == v1alpha1.LivenessUnknown && o.Liveness.Early
}

// livenessNow returns status.liveness for the verdict.
func livenessNow(o *observation.Observation) *v1alpha1.LivenessStatus {
	l := o.Job.Status.Liveness.DeepCopy()
	if l == nil {
		l = &v1alpha1.LivenessStatus{}
	}
	if unknownYet(o) {
		return l
	}
	v, now := o.Liveness, o.Time()
	idle := v.Idle
	if hung := v1alpha1.LivenessHung; l.State == hung && v.State == hung {
		// The time of the last progress stays the same, whatever the delays of beats are.
		if since := o.Now.Sub(observation.StoppedAt(l)); (since - idle).Abs() < sameStop {
			idle = since
		}
	}
	if l.State != v.State {
		l.State, l.Since = v.State, &now
	}
	l.ObservedTime, l.Step = &now, v.Step
	l.IdleSeconds, l.LimitSeconds = int64(idle/time.Second), int64(v.Limit/time.Second)
	l.ReportingRanks, l.WatchedRanks = v.Reporting, v.Watched
	l.Suspects = slices.Clone(v.Suspects)
	l.RestartsWithoutProgress = decision.VainRestarts(o)
	learn(o, l)
	nameNode(o, l)
	return l
}

// learn keeps the longest pause and the lowest median of the step time.
func learn(o *observation.Observation, l *v1alpha1.LivenessStatus) {
	v := o.Liveness
	recorded, age := observation.RecordedPause(o)
	if pause, longer := liveness.LearnPause(recorded, age, v.Verdict); longer && pause >= time.Second {
		l.LongestPauseSeconds, l.LongestPauseTime = int64(pause/time.Second), new(o.Time())
	}
	if ms := v.StepTime.Milliseconds(); ms > 0 && (l.StepMilliseconds == 0 || ms < l.StepMilliseconds) {
		l.StepMilliseconds = ms
	}
}

// nameNode records the node that strong evidence names in a hang, once per hang, when the hang is confirmed.
// A shared cause is no evidence against a node.
func nameNode(o *observation.Observation, l *v1alpha1.LivenessStatus) {
	node, now := o.Liveness.NamedNode(), o.Time()
	named := slices.ContainsFunc(l.NamedNodes,
		func(n v1alpha1.NamedNode) bool { return !n.LastTime.Before(l.Since) })
	if node == "" || named || l.State != v1alpha1.LivenessHung ||
		now.Sub(l.Since.Time) < liveness.ConfirmedAfter || decision.HasSharedCause(o) {
		return
	}
	l.NamedNodes = liveness.NameNode(l.NamedNodes, v1alpha1.NamedNode{Name: node, LastTime: now})
}

// concludeLiveness counts the restart of a gang that hangs, in the write that begins it, and removes the
// verdict about an attempt that no longer runs.
func concludeLiveness(o *observation.Observation, p *decision.Plan, outcome decision.Outcome) {
	st := &p.Status
	if o.Liveness != nil && !unknownYet(o) {
		st.Liveness = livenessNow(o)
	}
	if outcome.HangRestart {
		l := st.Liveness
		l.Restarts++
		l.RestartsWithoutProgress++
		if step, known := o.HighestStep(); known {
			l.StepAtRestart = max(l.StepAtRestart, step)
		}
	}
	forgetVerdict(st)
	if l := st.Liveness; l != nil && outcome.Submitted && st.Revision != o.Job.Status.Revision {
		l.StepMilliseconds = 0 // steps of another gang take another time
	}
}

// forgetVerdict removes what belongs to the running attempt. What the operator learned and counted stays.
func forgetVerdict(st *v1alpha1.TrainingJobStatus) {
	l := st.Liveness
	if l == nil {
		return
	}
	kept := &v1alpha1.LivenessStatus{
		Restarts: l.Restarts, RestartsWithoutProgress: l.RestartsWithoutProgress, StepAtRestart: l.StepAtRestart,
		LongestPauseSeconds: l.LongestPauseSeconds, LongestPauseTime: l.LongestPauseTime,
		StepMilliseconds: l.StepMilliseconds, NamedNodes: l.NamedNodes,
	}
	if apiequality.Semantic.DeepEqual(kept, &v1alpha1.LivenessStatus{}) {
		kept = nil
	}
	st.Liveness = kept
}
