package kueue

import (
	"cmp"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// SyncStatus implements scheduler.QuotaSystem. It returns at most one write for each Workload, because every
// write raises the resourceVersion that the next one must name. The order of the cases is that of Kueue's own
// reconciler, except that an eviction precedes optional writes (Kueue's issue 14811): evicted gangs must not
// keep quota.
//
//	finished, being deleted, job gone,   once no pod is left: remove the finalizer, finish, or release
//	job over, evicted                    the quota
//	admitted where its pods cannot run   finish, so that others get the quota
//	otherwise                            the preemption gate, the mark of a spared gang, PodsReady, then
//	                                     reclaimablePods
//
// An evicted Workload first loses its mark: in the queue it would otherwise precede its equals.
func (b Backend) SyncStatus(
	g scheduler.Gang, status scheduler.GangStatus, objs []client.Object,
) []scheduler.Write {
	var writes []scheduler.Write
	for _, wl := range workloadsIn(objs) {
		if w := nextWrite(g, status, wl, objs); w != nil {
			writes = append(writes, *w)
		}
	}
	return writes
}

// nextWrite returns the next write to one Workload, or nil when it is up to date.
func nextWrite(
	g scheduler.Gang, status scheduler.GangStatus, wl *kueuev1beta2.Workload, objs []client.Object,
) *scheduler.Write {
	ended := isTrue(wl, kueuev1beta2.WorkloadFinished) || wl.DeletionTimestamp != nil
	evicted := isTrue(wl, kueuev1beta2.WorkloadEvicted) && isTrue(wl, kueuev1beta2.WorkloadQuotaReserved)
	differing := outOfSync(g, wl) != ""
	releasing := ended || status.Gone || status.Finished || evicted || differing
	switch {
	case wl.DeletionTimestamp != nil && !isTrue(wl, kueuev1beta2.WorkloadQuotaReserved):
		return finalizerWrite(wl) // it has no quota that pods could use
	case evicted && !status.Gone && marked(wl):
		return unmarkWrite(wl)
	case releasing && status.PodsLeft > 0:
		return nil // the pods use the quota
	case ended:
		return finalizerWrite(wl)
	case status.Gone && wl.Labels[kueuev1beta2.MultiKueueOriginLabel] != "":
		// MultiKueue deletes the job before this Workload. It would treat Finished as the end of the job that
		// it dispatched from another cluster (multikueue/workload.go, "3. Finish the local workload").
		return finalizerWrite(wl)
	case status.Gone:
		// Kueue never frees a Workload that has an owner reference, even if the owner is deleted.
		return finishWrite(wl,
			kueuev1beta2.WorkloadFinishedReasonOwnerNotFound, "The workload's owner no longer exists", status.Now)
	case status.Finished:
		reason := kueuev1beta2.WorkloadFinishedReasonFailed
		if status.Success {
			reason = kueuev1beta2.WorkloadFinishedReasonSucceeded
		}
		return finishWrite(wl, reason, status.Message, status.Now)
	case differing:
		return finishWrite(wl, kueuev1beta2.WorkloadFinishedReasonOutOfSync,
			"The prebuilt workload is out of sync with its user job", status.Now)
	case evicted && waitsForOtherCluster(wl, status):
		return nil
	case evicted:
		return handBackWrite(wl, status.Now)
	case wl != current(g, objs):
		return nil // of a previous spec, and about to be deleted
	case status.PodsLeft == 0 && !status.Over && !g.Dispatched:
		if why := cannotStart(g, wl, objs); why != "" {
			return finishWrite(wl, reasonFailedToStart, why, status.Now)
		}
	}
	if w := cmp.Or(gateWrite(wl, status), spareWrite(wl, status), podsReadyWrite(wl, status)); w != nil {
		return w
	}
	return reclaimWrite(g, status, wl)
}

// cannotStart returns why an admitted gang can never start with its placement, or "". The operator then
// finishes its Workload, as Kueue's own integrations do (pkg/controller/jobframework/reconciler.go, "7.
// handle job is suspended"), because it would hold quota that it cannot use.
func cannotStart(g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object) string {
	if !isTrue(wl, kueuev1beta2.WorkloadAdmitted) || wl.Status.Admission == nil || !isActive(wl) {
		return ""
	}
	_, problem := placementByRole(g, wl, objs)
	if problem == nil || problem.Reason != ReasonPlacementConflict {
		return ""
	}
	return problem.Message
}
