package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Placement is what a scheduler adds to the pods of one role.
type Placement struct {
	NodeSelector        map[string]string
	Tolerations         []corev1.Toleration
	Labels, Annotations map[string]string
	SchedulingGates     []corev1.PodSchedulingGate
}

// ApplyTo adds the placement to a rendered pod. It replaces nothing that the pod's template sets, and it is
// idempotent.
func (p Placement) ApplyTo(pod *corev1.Pod) {
	pod.Labels = withMissing(pod.Labels, p.Labels)
	pod.Annotations = withMissing(pod.Annotations, p.Annotations)
	pod.Spec.NodeSelector = withMissing(pod.Spec.NodeSelector, p.NodeSelector)
	for _, t := range p.Tolerations {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(existing corev1.Toleration) bool {
			return equality.Semantic.DeepEqual(existing, t)
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

// withMissing returns existing with the keys of additional that it lacks.
func withMissing[M ~map[K]V, K comparable, V any](existing, additional M) M {
	if len(additional) == 0 {
		return existing
	}
	merged := maps.Clone(additional)
	maps.Copy(merged, existing)
	return merged
}
