package kueue

import (
	"maps"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// boostAnnotation is added to the Workload's priority, among those that Kueue may preempt and in the queue
	// (pkg/controller/constants, PriorityBoostAnnotationKey).
	boostAnnotation = "kueue.x-k8s.io/priority-boost"
	// sparedAnnotation says that the boost is the operator's. It touches no other.
	sparedAnnotation = "mlplatform.example.com/spared"
	// boost of a Workload that is spared. More than its equals is enough; one that is lowered instead could be
	// preempted for its equals.
	boost = "1"
)

// marked reports whether the operator has boosted the Workload.
func marked(wl *kueuev1beta2.Workload) bool { return wl.Annotations[sparedAnnotation] != "" }

// boosted reports whether anybody has.
func boosted(wl *kueuev1beta2.Workload) bool { return wl.Annotations[boostAnnotation] != "" }

// spareWrite returns the write that marks a Workload with quota whose gang is spared, or takes the mark away,
// or nil.
func spareWrite(wl *kueuev1beta2.Workload, status scheduler.GangStatus) *scheduler.Write {
	switch {
	case status.Spare == nil:
		return nil
	case !*status.Spare && marked(wl):
		return unmarkWrite(wl)
	case !*status.Spare || boosted(wl) || !isTrue(wl, kueuev1beta2.WorkloadQuotaReserved):
		return nil
	}
	after := wl.DeepCopy()
	after.Annotations = withBoost(wl.Annotations)
	return &scheduler.Write{
		Base: wl.DeepCopy(), Object: after, Why: "having Kueue preempt others of the same priority first",
	}
}

func withBoost(annotations map[string]string) map[string]string {
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[boostAnnotation], annotations[sparedAnnotation] = boost, boost
	return annotations
}

// unmarkWrite takes the operator's mark away, and the boost unless somebody has changed it since.
func unmarkWrite(wl *kueuev1beta2.Workload) *scheduler.Write {
	after := wl.DeepCopy()
	if after.Annotations[boostAnnotation] == boost {
		delete(after.Annotations, boostAnnotation)
	}
	delete(after.Annotations, sparedAnnotation)
	return &scheduler.Write{Base: wl.DeepCopy(), Object: after, Why: "sparing the gang no longer"}
}
