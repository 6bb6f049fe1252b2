package kueue

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// podsReadyWrite returns the write that reports to Kueue whether the gang has started, or nil if it is
// reported. Without the condition PodsReady Kueue evicts a running gang again and again when
// waitForPodsReady, which is on by default, times out (pkg/controller/core/workload_controller.go,
// reconcileNotReadyTimeout). The states are those of pkg/controller/jobframework, generatePodsReadyCondition.
// For a gang that has never been ready nothing is written, which means the same to Kueue.
func podsReadyWrite(wl *kueuev1beta2.Workload, status scheduler.GangStatus) *scheduler.Write {
	before := conditionOf(wl, kueuev1beta2.WorkloadPodsReady)
	admitted := isTrue(wl, kueuev1beta2.WorkloadAdmitted)
	after := metav1.Condition{
		Type: kueuev1beta2.WorkloadPodsReady, Status: metav1.ConditionFalse,
		Reason: kueuev1beta2.WorkloadWaitForStart, Message: "Not all pods are ready or succeeded",
	}
	switch {
	case admitted && status.Ready:
		after.Status, after.Reason = metav1.ConditionTrue, kueuev1beta2.WorkloadStarted
		after.Message = "All pods reached readiness and the workload is running"
		if before != nil && (before.Reason == kueuev1beta2.WorkloadWaitForRecovery ||
			before.Reason == kueuev1beta2.WorkloadRecovered) {
			after.Reason = kueuev1beta2.WorkloadRecovered
		}
	case before == nil:
		return nil
	case admitted &&
		(before.Status == metav1.ConditionTrue || before.Reason == kueuev1beta2.WorkloadWaitForRecovery):
		after.Reason = kueuev1beta2.WorkloadWaitForRecovery
		after.Message = "At least one pod has failed, waiting for recovery"
	}
	if before != nil && before.Status == after.Status && before.Reason == after.Reason {
		return nil
	}
	after.LastTransitionTime, after.ObservedGeneration = status.Now, wl.Generation
	patch := newPatch(wl)
	patch.Status.Conditions = []metav1.Condition{after}
	return &scheduler.Write{
		Object: patch, Subresource: subresourceStatus, FieldOwner: ownerPodsReady,
		Why: "reporting to Kueue whether the ranks are ready",
	}
}

// reclaimWrite returns the write that reports to Kueue which ranks have ended for good while others still
// run, or nil. While quota is reserved the numbers can only grow (pkg/webhooks,
// validateReclaimablePodsUpdate). Under partial admission nothing is written: Kueue subtracts from the full
// size, and after an eviction would admit the gang with the remaining ranks of a part.
func reclaimWrite(g scheduler.Gang, status scheduler.GangStatus, wl *kueuev1beta2.Workload) *scheduler.Write {
	if !status.Over || wl.Status.Admission == nil || len(admittedCounts(g, wl)) > 0 {
		return nil
	}
	known := map[kueuev1beta2.PodSetReference]int32{}
	for _, p := range wl.Status.ReclaimablePods {
		known[p.Name] = p.Count
	}
	var pods []kueuev1beta2.ReclaimablePod
	changed := false
	for _, r := range g.Roles {
		name := podSetName(r)
		before, listed := known[name]
		n := max(min(status.Ended[r.Name], r.Replicas), before)
		if n == 0 && !listed {
			continue
		}
		changed = changed || n != before
		pods = append(pods, kueuev1beta2.ReclaimablePod{Name: name, Count: n})
	}
	if !changed {
		return nil
	}
	patch := newPatch(wl)
	patch.Status.ReclaimablePods = pods
	return &scheduler.Write{
		Object: patch, Subresource: subresourceStatus, FieldOwner: ownerReclaimable,
		Why: "reporting to Kueue which ranks need no quota any more",
	}
}

// handBackWrite returns the write that releases the quota of an evicted gang without pods, so that Kueue can
// queue the gang again (pkg/controller/jobframework/reconciler.go, "6. handle eviction").
func handBackWrite(wl *kueuev1beta2.Workload, now metav1.Time) *scheduler.Write {
	after := wl.DeepCopy()
	eviction := conditionOf(after, kueuev1beta2.WorkloadEvicted).DeepCopy()
	requeued := metav1.ConditionFalse
	// Gangs that were evicted for another reason wait first: for a backoff, a queue that starts again, or a
	// user who activates the Workload. Kueue itself requeues them.
	if eviction.Reason == kueuev1beta2.WorkloadEvictedByPreemption ||
		eviction.Reason == kueuev1beta2.WorkloadEvictedDueToNodeFailures {
		requeued = metav1.ConditionTrue
	}
	setCondition(after, kueuev1beta2.WorkloadRequeued, requeued, eviction.Reason, eviction.Message, now)
	setCondition(after,
		kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, reasonPending, eviction.Message, now)
	after.Status.Admission = nil
	setNotAdmitted(after, now)
	return admissionWrite(after, "releasing the quota of the evicted gang")
}

// setNotAdmitted updates the Workload for the loss of its reservation (pkg/workload/admissionchecks.go,
// SyncAdmittedCondition).
func setNotAdmitted(wl *kueuev1beta2.Workload, now metav1.Time) {
	c := conditionOf(wl, kueuev1beta2.WorkloadAdmitted)
	if c == nil || c.Status != metav1.ConditionTrue {
		return
	}
	seconds := int32(now.Sub(c.LastTransitionTime.Time).Seconds())
	if past := wl.Status.AccumulatedPastExecutionTimeSeconds; past != nil {
		seconds += *past
	}
	wl.Status.AccumulatedPastExecutionTimeSeconds = &seconds
	reason, message := kueuev1beta2.WorkloadAdmittedReasonNoReservation, "The workload has no reservation"
	notReady := func(check kueuev1beta2.AdmissionCheckState) bool {
		return check.State != kueuev1beta2.CheckStateReady
	}
	if slices.ContainsFunc(wl.Status.AdmissionChecks, notReady) {
		reason = "NoReservationUnsatisfiedChecks"
		message = "The workload has no reservation and not all checks ready"
	}
	setCondition(wl, kueuev1beta2.WorkloadAdmitted, metav1.ConditionFalse, reason, message, now)
}

// finishWrite returns the write that releases the quota for good.
func finishWrite(wl *kueuev1beta2.Workload, reason, message string, now metav1.Time) *scheduler.Write {
	after := wl.DeepCopy()
	setCondition(after, kueuev1beta2.WorkloadFinished, metav1.ConditionTrue, reason, message, now)
	return admissionWrite(after, "reporting to Kueue that the job is over")
}

// finalizerWrite returns the write that removes the operator's finalizer, or nil when there is none.
func finalizerWrite(wl *kueuev1beta2.Workload) *scheduler.Write {
	without := wl.DeepCopy()
	if !controllerutil.RemoveFinalizer(without, kueuev1beta2.ResourceInUseFinalizerName) {
		return nil
	}
	return &scheduler.Write{Base: wl.DeepCopy(), Object: without, Why: "releasing the Workload"}
}
