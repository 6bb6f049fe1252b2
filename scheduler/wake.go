package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// PodKind is the kind of pods, which every scheduler watches.
var PodKind = corev1.SchemeGroupVersion.WithKind("Pod")

// schedulerRests explains that the nodes have room for the gang and that its scheduler, which has rejected
// it, does not try again. If the operator does not see all pods, it may wake the scheduler in vain, at a
// limited rate. Otherwise the gang could wait forever.
func schedulerRests(w *waitingGang) (Explanation, bool) {
	waker := Of(w.backend).Waker
	if waker == nil || !w.hasRoom() {
		return Explanation{}, false
	}
	why, needs := waker.NeedsWake(w.gang, w.objects, w.cluster)
	if !needs {
		return Explanation{}, false
	}
	return Explanation{
		Reason:   ReasonSchedulerRests,
		Message:  fmt.Sprintf("%s for %s at once, and %s", w.roomText(), w.ranksText(), why),
		NextStep: "nothing, it is woken; if this lasts, see that the scheduler of its pods runs",
	}, true
}

// placeNotFound repeats the message of a scheduler about a gang whose requests fit on the nodes, as the
// scheduler's view and not as a fact.
func placeNotFound(w *waitingGang) (Explanation, bool) {
	if w.verdict.Reason != ReasonUnschedulable || !w.hasRoom() {
		return Explanation{}, false
	}
	e, _ := verdictExplanation(w.verdict)
	e.Message = fmt.Sprintf("by what they request %s for %s at once; %s reported when it last tried: %s",
		w.roomText(), w.ranksText(), w.backend.Name(), w.verdict.Message)
	return e, true
}

// roomText reports that there is room, and how certain that is.
func (w *waitingGang) roomText() string {
	if w.cluster.Partial {
		return "the nodes have room, if pods that the operator does not see leave it,"
	}
	return "the nodes have room"
}

func (w *waitingGang) ranksText() string {
	ranks, _, _ := demand(w.roles)
	return count(int(ranks), "rank", "ranks")
}

// hasRoom reports whether the nodes certainly have room now for the gang's unbound ranks among its first
// MinAvailable, next to the visible pods. It is uncertain if more than requests, selectors and taints count.
func (w *waitingGang) hasRoom() bool {
	ranks, _, _ := demand(w.roles)
	if ranks == 0 || placeable(w.roles, roomNow) < ranks {
		return false
	}
	for _, claim := range w.cluster.Claims {
		if !claim.Exists || !claim.Bound {
			return false
		}
	}
	for _, r := range w.roles {
		if needsMoreThanRoom(&r.role.Template.Spec) {
			return false
		}
	}
	return true
}

// needsMoreThanRoom reports whether a pod has constraints that roleCapacity does not count.
func needsMoreThanRoom(spec *corev1.PodSpec) bool {
	if a := spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return true
	}
	if len(spec.TopologySpreadConstraints) > 0 || len(spec.ResourceClaims) > 0 || len(spec.SchedulingGates) > 0 {
		return true
	}
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				return true
			}
		}
	}
	return spec.HostNetwork
}
