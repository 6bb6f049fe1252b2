package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// avoided returns the nodes that a job's pods avoid: those that are excluded for it, and those that are
// reserved for another gang. None is named twice.
func avoided(st *v1alpha1.TrainingJobStatus) []string {
	var names []string
	if st.Disruptions != nil {
		for _, e := range st.Disruptions.ExcludedNodes {
			names = append(names, e.Name)
		}
	}
	if s := st.Scheduling; s != nil && s.Backfill != nil {
		for _, name := range s.Backfill.KeepsOff {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// avoidNodes adds an affinity to a pod that avoids nodes. It changes the pod and not
// its role's template, which schedulers compare across attempts. It uses the names of nodes, since their
// label kubernetes.io/hostname can differ.
func avoidNodes(pod *corev1.Pod, names []string) {
	if len(names) == 0 {
		return
	}
	var off []corev1.NodeSelectorRequirement
	for _, name := range names { // a match of a field takes one value
		off = append(off, corev1.NodeSelectorRequirement{
			Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name},
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
