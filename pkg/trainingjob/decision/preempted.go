package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A scheduler that preempts gangs as a unit has preemptorTime, plus preemptorTimePerRank for each rank, to
// stop all ranks of one. kube-scheduler sends two requests for each rank, and by default at most 50 a second,
// which it shares with gangs that do not fit. After that time the operator deletes the remaining ranks.
const (
	preemptorTime        = 10 * time.Second
	preemptorTimePerRank = 200 * time.Millisecond
)

// awaitsPreemptor reports whether the scheduler that preempted the gang has not yet deleted every rank that
// holds a node, and until when the operator waits for it (see scheduler.Traits).
func awaitsPreemptor(o *observation.Observation) (time.Time, bool) {
	until := o.PhaseSince().Add(preemptorTime + time.Duration(o.Total())*preemptorTimePerRank)
	if drainCause(o.Job) != v1alpha1.CauseDisruption || drainReason(o.Job) != v1alpha1.ReasonPreempted ||
		!o.Now.Before(until) {
		return time.Time{}, false
	}
	if !scheduler.Of(o.Backend).PreemptsGangs {
		return time.Time{}, false
	}
	for _, pod := range o.Live {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			return until, true
		}
	}
	return time.Time{}, false
}
