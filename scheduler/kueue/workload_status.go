package kueue

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// conditionOf returns the Workload's condition of a type, or nil.
func conditionOf(wl *kueuev1beta2.Workload, kind string) *metav1.Condition {
	return meta.FindStatusCondition(wl.Status.Conditions, kind)
}

// isTrue reports whether the Workload's condition of a type is True.
func isTrue(wl *kueuev1beta2.Workload, kind string) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, kind)
}

// isActive reports whether Kueue may admit the Workload.
func isActive(wl *kueuev1beta2.Workload) bool { return wl.Spec.Active == nil || *wl.Spec.Active }

// assignmentOf returns what Kueue assigned to a pod set, or nil while the Workload has no admission.
func assignmentOf(
	wl *kueuev1beta2.Workload, name kueuev1beta2.PodSetReference,
) *kueuev1beta2.PodSetAssignment {
	if wl.Status.Admission == nil {
		return nil
	}
	for i := range wl.Status.Admission.PodSetAssignments {
		if a := &wl.Status.Admission.PodSetAssignments[i]; a.Name == name {
			return a
		}
	}
	return nil
}

// admittedCounts returns the number of admitted ranks of those roles that were admitted in part.
func admittedCounts(g scheduler.Gang, wl *kueuev1beta2.Workload) map[string]int32 {
	var counts map[string]int32
	for _, r := range g.Roles {
		a := assignmentOf(wl, podSetName(r))
		if a == nil || a.Count == nil || *a.Count >= r.Replicas {
			continue
		}
		if counts == nil {
			counts = map[string]int32{}
		}
		counts[r.Name] = *a.Count
	}
	return counts
}
