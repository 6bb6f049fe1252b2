package kueue

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const subresourceStatus = "status"

// newPatch returns the Workload of an apply to the status, without a status, as Kueue starts it
// (pkg/workload/patching, baseSSAWorkload). Its resourceVersion keeps the decision from being applied to a
// later state.
func newPatch(wl *kueuev1beta2.Workload) *kueuev1beta2.Workload {
	patch := &kueuev1beta2.Workload{}
	patch.SetGroupVersionKind(workloadKind)
	patch.UID, patch.Name, patch.Namespace = types.UID(wl.UID), wl.Name, wl.Namespace
	patch.Generation, patch.ResourceVersion = wl.Generation, wl.ResourceVersion
	copied := wl.DeepCopy()
	patch.Labels, patch.Annotations = copied.Labels, copied.Annotations
	return patch
}

// admissionConditions are the conditions in an apply as kueue-admission, in this order
// (pkg/workload/patching).
var admissionConditions = []string{
	kueuev1beta2.WorkloadQuotaReserved,
	kueuev1beta2.WorkloadBlockedOnPreemptionGates,
	kueuev1beta2.WorkloadEvicted,
	kueuev1beta2.WorkloadAdmitted,
	kueuev1beta2.WorkloadPreempted,
	kueuev1beta2.WorkloadRequeued,
	kueuev1beta2.WorkloadDeactivationTarget,
	kueuev1beta2.WorkloadFinished,
	kueuev1beta2.WorkloadPodsReady,
}

// admissionWrite returns the apply of everything that kueue-admission owns. Kueue would remove omitted
// fields, such as the states of admission checks (pkg/workload/patching, prepareWorkloadPatch).
func admissionWrite(wl *kueuev1beta2.Workload, why string) *scheduler.Write {
	patch := newPatch(wl)
	from, to := wl.DeepCopy().Status, &patch.Status
	to.Admission = from.Admission
	if r := from.RequeueState; r != nil && (r.Count != nil || r.RequeueAt != nil) {
		to.RequeueState = r
	}
	if to.Admission == nil {
		to.ResourceRequests = from.ResourceRequests
	} else {
		to.ResourceRequests = []kueuev1beta2.PodSetRequest{}
	}
	for _, kind := range admissionConditions {
		if c := meta.FindStatusCondition(from.Conditions, kind); c != nil {
			to.Conditions = append(to.Conditions, *c)
		}
	}
	to.AccumulatedPastExecutionTimeSeconds = from.AccumulatedPastExecutionTimeSeconds
	if from.SchedulingStats != nil {
		to.SchedulingStats = &kueuev1beta2.SchedulingStats{Evictions: from.SchedulingStats.Evictions}
	}
	to.ClusterName, to.NominatedClusterNames = from.ClusterName, from.NominatedClusterNames
	to.UnhealthyNodes, to.PreemptionGates = from.UnhealthyNodes, from.PreemptionGates
	to.AdmissionChecks = from.AdmissionChecks
	return &scheduler.Write{
		Object: patch, Subresource: subresourceStatus, FieldOwner: ownerAdmission, Why: why,
	}
}

// maxMessage is the length in bytes to which Kueue cuts messages (pkg/util/api).
const maxMessage = 32 * 1024

// setCondition sets a condition of the Workload and cuts its message to maxMessage.
func setCondition(
	wl *kueuev1beta2.Workload, kind string, status metav1.ConditionStatus, reason, message string,
	now metav1.Time,
) {
	if len(message) > maxMessage {
		message = message[:maxMessage-4] + " ..."
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastTransitionTime: now, ObservedGeneration: wl.Generation,
	})
}
