package render

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// packWeight is the largest weight of a preference, since the user requested this one.
const packWeight int32 = 100

// addTopology turns the modes Pack and Spread into preferences for schedulers. Mode Within is a requirement
// of the gang and not of its pods: see scheduler.Gang.
func addTopology(job *v1alpha1.TrainingJob, pod *corev1.PodSpec) {
	hint := job.Spec.RunPolicy.SchedulingPolicy.Topology
	if hint == nil || hint.Mode == v1alpha1.TopologyWithin {
		return
	}
	key := cmp.Or(hint.Key, corev1.LabelTopologyZone)
	ranks := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelJobName: job.Name}}
	if hint.Mode == v1alpha1.TopologySpread {
		pod.TopologySpreadConstraints = append(pod.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: ranks,
		})
		return
	}
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if pod.Affinity.PodAffinity == nil {
		pod.Affinity.PodAffinity = &corev1.PodAffinity{}
	}
	near := &pod.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	*near = append(*near, corev1.WeightedPodAffinityTerm{
		Weight: packWeight, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: ranks},
	})
}

// addedTolerations returns the tolerations that the operator's configuration gives the ranks of a role in the
// current attempt. The status has them, so that a change of the configuration affects no queued or running
// gang: Kueue, for example, evicts a gang whose pods change. In the status of a job that another cluster runs
// they are that cluster's.
func addedTolerations(job *v1alpha1.TrainingJob, role v1alpha1.Role) []corev1.Toleration {
	if spec.ManagedElsewhere(job) {
		return nil
	}
	if s := job.Status.Scheduling; s != nil && slices.Contains(s.ToleratingRoles, role) {
		return s.Tolerations
	}
	return nil
}

// tolerate appends the missing tolerations to the pod, and returns them.
func tolerate(pod *corev1.PodSpec, tolerations []corev1.Toleration) []corev1.Toleration {
	users := len(pod.Tolerations)
	for i := range tolerations {
		t := &tolerations[i]
		same := func(has corev1.Toleration) bool { return has.MatchToleration(t) }
		if !slices.ContainsFunc(pod.Tolerations, same) {
			pod.Tolerations = append(pod.Tolerations, *t.DeepCopy())
		}
	}
	return pod.Tolerations[users:]
}

// RolesWithGPUs returns the roles of a job whose ranks request GPUs.
func RolesWithGPUs(job *v1alpha1.TrainingJob, counted framework.GPUs) []v1alpha1.Role {
	var names []v1alpha1.Role
	for _, role := range spec.Roles(job) {
		if gpusOfRank(job, role, counted) > 0 {
			names = append(names, role.Name)
		}
	}
	return names
}
