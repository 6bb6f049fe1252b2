package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Place carries a placement out on a rendered pod. It adds and never replaces: what the pod's template says stays. Doing
// it twice is doing it once.
func (p Placement) Place(pod *corev1.Pod) {
	pod.Labels = added(pod.Labels, p.Labels)
	pod.Annotations = added(pod.Annotations, p.Annotations)
	pod.Spec.NodeSelector = added(pod.Spec.NodeSelector, p.NodeSelector)
	for _, t := range p.Tolerations {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(have corev1.Toleration) bool {
			return equality.Semantic.DeepEqual(have, t)
		}) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, *t.DeepCopy())
		}
	}
	for _, gate := range p.SchedulingGates {
		if !slices.Contains(pod.Spec.SchedulingGates, gate) {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, gate)
		}
	}
}

func added(have, more map[string]string) map[string]string {
	if len(more) == 0 {
		return have
	}
	all := maps.Clone(more)
	maps.Copy(all, have)
	return all
}
