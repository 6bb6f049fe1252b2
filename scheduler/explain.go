package scheduler

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// explanations are tried in this order, and the first that applies is returned. Causes that only the user can
// remove come before those that time may remove. The scheduler's own message comes last, because the others
// are mostly clearer.
var explanations = []func(*waitingGang) (Explanation, bool){
	groupTerminating,
	dialectReason,
	domainCause,
	verdictCause,
	claimMissing,
	noNodeMatches,
	noNodeLargeEnough,
	exceedsCluster,
	exceedsDomain,
	insufficientInDomain,
	insufficientResources,
	claimUnbound,
	devicesUnknown,
	schedulerRests,
	placeNotFound,
	waitingBehind,
	verdictMessage,
}

// Explain returns why a gang waits, from its objects, the verdict from them and the state of the cluster. It
// returns false if no reason is known.
func Explain(b Backend, g Gang, objects []client.Object, v Verdict, s ClusterState) (Explanation, bool) {
	w := &waitingGang{gang: g, backend: b, objects: objects, verdict: v, cluster: s}
	if s.Complete {
		w.roles = s.capacity(withPlacement(g, v))
	}
	for _, explain := range explanations {
		if e, ok := explain(w); ok {
			return e, true
		}
	}
	return Explanation{}, false
}

// groupTerminating: while the group is being deleted no pod can join it.
func groupTerminating(w *waitingGang) (Explanation, bool) {
	if w.verdict.Reason != ReasonTerminating {
		return Explanation{}, false
	}
	return verdictExplanation(w.verdict)
}

// dialectReason asks the backend, if it is an Explainer.
func dialectReason(w *waitingGang) (Explanation, bool) {
	if e := Of(w.backend).Explainer; e != nil {
		return e.Explain(w.gang, w.objects, w.cluster)
	}
	return Explanation{}, false
}

// nonCauses are the reasons of a Verdict that do not explain why the gang waits.
var nonCauses = []string{"", ReasonWaitingInQueue, ReasonNotJudged, ReasonUnschedulable}

// verdictCause: if the verdict itself names a cause (an exceeded quota, a stopped queue), the nodes are
// irrelevant.
func verdictCause(w *waitingGang) (Explanation, bool) {
	if slices.Contains(nonCauses, w.verdict.Reason) {
		return Explanation{}, false
	}
	return verdictExplanation(w.verdict)
}

// waitingBehind: there is capacity, as far as the operator sees, and others are served first. A gang that the
// scheduler has tried to place is not held back for others.
func waitingBehind(w *waitingGang) (Explanation, bool) {
	ahead := w.cluster.Ahead
	if ahead.Count == 0 || w.verdict.Reason == ReasonUnschedulable {
		return Explanation{}, false
	}
	where := "at " + w.backend.Name()
	if w.cluster.Self.Queue != "" {
		where = "in queue " + w.cluster.Self.Queue
	}
	first := ahead.First.Namespace + "/" + ahead.First.Name
	if !w.cluster.mayName(ahead.First.Namespace) {
		first = "of another namespace"
	}
	message := fmt.Sprintf("%s %s before it, the first is %s",
		count(ahead.Count, "job waits", "jobs wait"), where, first)
	if w.cluster.Partial {
		message = fmt.Sprintf("at least %s %s before it, one is %s",
			count(ahead.Count, "job waits", "jobs wait"), where, first)
	}
	return Explanation{
		Reason:   ReasonWaitingBehind,
		Message:  message,
		NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
	}, true
}

// verdictMessage returns the scheduler's own reason and message, if any.
func verdictMessage(w *waitingGang) (Explanation, bool) { return verdictExplanation(w.verdict) }
