package kueue

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// podsReady tells Kueue whether the gang has started. Without it a gang that runs is evicted again and again once
// waitForPodsReady's time is over (on by default, pkg/controller/core/workload_controller.go, reconcileNotReadyTimeout).
// The states are those of pkg/controller/jobframework, generatePodsReadyCondition; but a gang that has never been ready is
// not told of, for Kueue takes silence for the same.
func podsReady(wl *kueuev1beta2.Workload, life scheduler.GangStatus) *scheduler.Write {
	before := condition(wl, kueuev1beta2.WorkloadPodsReady)
	admitted := is(wl, kueuev1beta2.WorkloadAdmitted)
	now := metav1.Condition{
		Type: kueuev1beta2.WorkloadPodsReady, Status: metav1.ConditionFalse, Reason: kueuev1beta2.WorkloadWaitForStart,
		Message: "Not all pods are ready or succeeded",
	}
	switch {
	case admitted && life.Ready:
		now.Status, now.Reason = metav1.ConditionTrue, kueuev1beta2.WorkloadStarted
		now.Message = "All pods reached readiness and the workload is running"
		if before != nil && (before.Reason == kueuev1beta2.WorkloadWaitForRecovery || before.Reason == kueuev1beta2.WorkloadRecovered) {
			now.Reason = kueuev1beta2.WorkloadRecovered
		}
	case before == nil:
		return nil
	case admitted && (before.Status == metav1.ConditionTrue || before.Reason == kueuev1beta2.WorkloadWaitForRecovery):
		now.Reason, now.Message = kueuev1beta2.WorkloadWaitForRecovery, "At least one pod has failed, waiting for recovery"
	}
	if before != nil && before.Status == now.Status && before.Reason == now.Reason {
		return nil
	}
	now.LastTransitionTime, now.ObservedGeneration = life.Now, wl.Generation
	patch := patchOf(wl)
	patch.Status.Conditions = []metav1.Condition{now}
	return &scheduler.Write{Object: patch, Subresource: subresourceStatus, FieldOwner: ownerPodsReady, Why: "telling Kueue whether the ranks are ready"}
}

// finish gives the quota back for good.
func finish(wl *kueuev1beta2.Workload, reason, message string, now metav1.Time) *scheduler.Write {
	after := wl.DeepCopy()
	set(after, kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, reason, message, now)
	return admissionWrite(after, "telling Kueue that the job is over")
}

// handBack gives the quota of an evicted gang back, none of whose pods is left, so that Kueue may give it to others and
// queue the gang again (pkg/controller/jobframework/reconciler.go, "6. handle eviction").
func handBack(wl *kueuev1beta2.Workload, now metav1.Time) *scheduler.Write {
	after := wl.DeepCopy()
	why := condition(after, kueuev1beta2.WorkloadEvicted).DeepCopy()
	requeued := metav1.ConditionFalse
	// Others wait for something first: a backoff, a queue that starts again, somebody who activates the Workload. Kueue
	// itself says when.
	if why.Reason == kueuev1beta2.WorkloadEvictedByPreemption || why.Reason == kueuev1beta2.WorkloadEvictedDueToNodeFailures {
		requeued = metav1.ConditionTrue
	}
	set(after, kueuev1beta2.WorkloadRequeued, requeued, why.Reason, why.Message, now)
	set(after, kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, reasonPending, why.Message, now)
	after.Status.Admission = nil
	unadmit(after, now)
	return admissionWrite(after, "handing the quota of the evicted gang back")
}

// unadmit follows the loss of the reservation (pkg/workload/admissionchecks.go, SyncAdmittedCondition).
func unadmit(wl *kueuev1beta2.Workload, now metav1.Time) {
	c := condition(wl, kueuev1beta2.WorkloadAdmitted)
	if c == nil || c.Status != metav1.ConditionTrue {
		return
	}
	seconds := int32(now.Sub(c.LastTransitionTime.Time).Seconds())
	if past := wl.Status.AccumulatedPastExecutionTimeSeconds; past != nil {
		seconds += *past
	}
	wl.Status.AccumulatedPastExecutionTimeSeconds = &seconds
	reason, message := kueuev1beta2.WorkloadAdmittedReasonNoReservation, "The workload has no reservation"
	for _, check := range wl.Status.AdmissionChecks {
		if check.State != kueuev1beta2.CheckStateReady {
			reason, message = "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
			break
		}
	}
	set(wl, kueuev1beta2.WorkloadAdmitted, metav1.ConditionFalse, reason, message, now)
}

// mostMessage is the length to which Kueue cuts messages (pkg/util/api).
const mostMessage = 32 * 1024

func set(wl *kueuev1beta2.Workload, kind string, status metav1.ConditionStatus, reason, message string, now metav1.Time) {
	if len(message) > mostMessage {
		message = message[:mostMessage-4] + " ..."
	}
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: now, ObservedGeneration: wl.Generation,
	})
}

// admissionConditions are those that an apply by kueue-admission carries, in this order (pkg/workload/patching).
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

// admissionWrite is the apply of everything that kueue-admission owns: what it leaves out would be dropped, the admission
// checks' answers among it (pkg/workload/patching, prepareWorkloadPatch).
func admissionWrite(wl *kueuev1beta2.Workload, why string) *scheduler.Write {
	patch := patchOf(wl)
	was, is := wl.DeepCopy().Status, &patch.Status
	is.Admission = was.Admission
	if r := was.RequeueState; r != nil && (r.Count != nil || r.RequeueAt != nil) {
		is.RequeueState = r
	}
	if is.Admission == nil {
		is.ResourceRequests = was.ResourceRequests
	} else {
		is.ResourceRequests = []kueuev1beta2.PodSetRequest{}
	}
	for _, kind := range admissionConditions {
		if c := meta.FindStatusCondition(was.Conditions, kind); c != nil {
			is.Conditions = append(is.Conditions, *c)
		}
	}
	is.AccumulatedPastExecutionTimeSeconds = was.AccumulatedPastExecutionTimeSeconds
	if was.SchedulingStats != nil {
		is.SchedulingStats = &kueuev1beta2.SchedulingStats{Evictions: was.SchedulingStats.Evictions}
	}
	is.ClusterName, is.NominatedClusterNames = was.ClusterName, was.NominatedClusterNames
	is.UnhealthyNodes, is.PreemptionGates = was.UnhealthyNodes, was.PreemptionGates
	is.AdmissionChecks = was.AdmissionChecks
	return &scheduler.Write{Object: patch, Subresource: subresourceStatus, FieldOwner: ownerAdmission, Why: why}
}
