package observation

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// PlacedRanks returns the number of ranks of the current attempt that hold a node, by role, from the status.
// The status lists a bounded number of ranks, those without a node first. So the result is zero for a larger
// queued gang, and can be too high for a larger gang that runs without some ranks.
func PlacedRanks(st *v1alpha1.TrainingJobStatus) map[v1alpha1.Role]int32 {
	waiting := map[v1alpha1.Role]int32{}
	for i := range st.Workers {
		if w := &st.Workers[i]; w.Node == "" && w.Phase == string(corev1.PodPending) {
			waiting[w.Role]++
		}
	}
	if st.Phase == v1alpha1.PhaseQueued && len(waiting) > 0 && len(st.Workers) < int(st.Replicas) {
		return nil
	}
	placed := map[v1alpha1.Role]int32{}
	for role, rs := range st.ReplicaStatuses {
		if n := rs.Active - waiting[role]; n > 0 {
			placed[role] = n
		}
	}
	return placed
}

// AllPlaced reports whether every rank of the current attempt holds a node, or held one and has succeeded.
func AllPlaced(st *v1alpha1.TrainingJobStatus) bool {
	placed, n := PlacedRanks(st), int32(0)
	for role, rs := range st.ReplicaStatuses {
		n += placed[role] + rs.Succeeded
	}
	return n > 0 && n == st.Replicas
}
