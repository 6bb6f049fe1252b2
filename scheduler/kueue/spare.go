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
	// sparedAnnotation marks a boost as the operator's. The operator changes no other boost.
	sparedAnnotation = "mlplatform.example.com/spared"
	// boost of a spared Workload. It must only exceed equal Workloads; lowering the victim instead could get
	// it preempted for an equal one.
	boost = "1"
)

// marked reports whether the operator has boosted the Workload.
func marked(wl *kueuev1beta2.Workload) bool { return wl.Annotations[sparedAnnotation] != "" }

// boosted reports whether the Workload has any boost.
func boosted(wl *kueuev1beta2.Workload) bool { return wl.Annotations[boostAnnotation] != "" }

// spareWrite returns the write that marks or unmarks a Workload with quota, or nil.
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
		Base: wl.DeepCopy(), Object: after, Why: "making Kueue preempt others of the same priority first",
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

// unmarkWrite removes the operator's mark, and the boost unless it was changed since.
func unmarkWrite(wl *kueuev1beta2.Workload) *scheduler.Write {
	after := wl.DeepCopy()
	if after.Annotations[boostAnnotation] == boost {
		delete(after.Annotations, boostAnnotation)
	}
	delete(after.Annotations, sparedAnnotation)
	return &scheduler.Write{Base: wl.DeepCopy(), Object: after, Why: "removing the spare mark"}
}
