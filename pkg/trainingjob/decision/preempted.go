package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A scheduler that preempts whole gangs has preemptorTime, and preemptorTimePerRank for each rank, to end all
// ranks of one. kube-scheduler makes two requests for each, and by default no more than 50 in a second,
// among which are those for gangs that find no place. If it has stopped in between, nobody waits for what the
// ranks hold.
const (
	preemptorTime        = 10 * time.Second
	preemptorTimePerRank = 200 * time.Millisecond
)

// awaitsPreemptor reports whether the scheduler that preempted the gang has not yet ended every rank that
// holds a node, and until when it is left to do so (see scheduler.Traits).
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
