package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// PodKind is the kind of pods, which every scheduler watches.
var PodKind = corev1.SchemeGroupVersion.WithKind("Pod")

// schedulerRests explains that the nodes have capacity for the gang and that its scheduler, which has
// rejected it, does not retry. If the operator does not see all pods, it may wake the scheduler in vain, at a
// limited rate. Otherwise the gang could wait forever.
func schedulerRests(w *waitingGang) (Explanation, bool) {
	waker := Of(w.backend).Waker
	if waker == nil || !w.hasCapacity() {
		return Explanation{}, false
	}
	why, needs := waker.NeedsWake(w.gang, w.objects, w.cluster)
	if !needs {
		return Explanation{}, false
	}
	return Explanation{
		Reason:   ReasonSchedulerRests,
		Message:  fmt.Sprintf("%s for %s at once, and %s", w.capacityText(), w.ranksText(), why),
		NextStep: "nothing, it is woken; if this lasts, see that the scheduler of its pods runs",
	}, true
}

// placeNotFound repeats the message of a scheduler about a gang whose requests fit on the nodes, as the
// scheduler's view and not as a fact.
func placeNotFound(w *waitingGang) (Explanation, bool) {
	if w.verdict.Reason != ReasonUnschedulable || !w.hasCapacity() {
		return Explanation{}, false
	}
	e, _ := verdictExplanation(w.verdict)
	e.Message = fmt.Sprintf("by what they request %s for %s at once; %s reported when it last tried: %s",
		w.capacityText(), w.ranksText(), w.backend.Name(), w.verdict.Message)
	return e, true
}

// capacityText reports that there is capacity, and how certain that is.
func (w *waitingGang) capacityText() string {
	if w.cluster.Partial {
		return "the nodes have capacity, unless pods that the operator does not see use it,"
	}
	return "the nodes have capacity"
}

func (w *waitingGang) ranksText() string {
	ranks, _, _ := demand(w.roles)
	return count(int(ranks), "rank", "ranks")
}

// hasCapacity reports whether the nodes certainly have capacity now for the gang's unbound ranks among its
// first MinAvailable, next to the visible pods. It is uncertain if more than requests, selectors and taints
// count.
func (w *waitingGang) hasCapacity() bool {
	ranks, _, _ := demand(w.roles)
	if ranks == 0 || placeable(w.roles, availableNow) < ranks || w.gang.Within != "" && !w.fitsDomain() {
		return false
	}
	for _, claim := range w.cluster.Claims {
		if !claim.Exists || !claim.Bound {
			return false
		}
	}
	for _, r := range w.roles {
		if len(r.devices) > 0 || needsMoreThanCapacity(&r.role.Template.Spec) {
			return false
		}
	}
	return true
}

// needsMoreThanCapacity reports whether a pod has constraints that roleCapacity does not count.
func needsMoreThanCapacity(spec *corev1.PodSpec) bool {
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
