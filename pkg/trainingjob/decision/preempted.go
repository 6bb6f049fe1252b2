package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// preemptorTime is how long a scheduler that preempts whole gangs has to end all ranks of one. It takes as
// long as a few requests for each; the limit is for one that stopped in between.
const preemptorTime = 5 * time.Second

// awaitsPreemptor reports whether the scheduler that preempted the gang has not yet ended every rank that
// holds a node, and until when it is left to do so (see scheduler.GangPreemptor).
func awaitsPreemptor(o *observation.Observation) (time.Time, bool) {
	until := o.PhaseSince().Add(preemptorTime)
	if drainCause(o.Job) != v1alpha1.CauseDisruption || drainReason(o.Job) != v1alpha1.ReasonPreempted ||
		!o.Now.Before(until) {
		return time.Time{}, false
	}
	preemptor, ok := o.Backend.(scheduler.GangPreemptor)
	if !ok || !preemptor.PreemptsGangs() {
		return time.Time{}, false
	}
	for _, pod := range o.Live {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			return until, true
		}
	}
	return time.Time{}, false
}
