package render

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// avoidNodes adds an affinity to a pod that avoids the nodes excluded for its job. It changes the pod and not
// its role's template, which schedulers compare across attempts. It uses the names of nodes, since their
// label kubernetes.io/hostname can differ.
func avoidNodes(pod *corev1.Pod, d *v1alpha1.DisruptionStatus) {
	if d == nil || len(d.ExcludedNodes) == 0 {
		return
	}
	var off []corev1.NodeSelectorRequirement
	for _, e := range d.ExcludedNodes { // a match of a field takes one value
		off = append(off, corev1.NodeSelectorRequirement{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{e.Name},
		})
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: off}},
		}
		return
	}
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms { // one of them must match; an empty one matches no node
		if t := &terms[i]; len(t.MatchExpressions)+len(t.MatchFields) > 0 {
			t.MatchFields = append(t.MatchFields, off...)
		}
	}
}
