package kueue

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend. The package documentation has the table of states.
func (b Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	wl := current(g, objs)
	if v, ok := prebuiltVerdict(g, wl); ok {
		return holdOrYield(g, v, v)
	}
	if v, ok := noQueueVerdict(g); ok {
		return holdOrYield(g, v, v)
	}
	if wl == nil {
		return holdOrYield(g, scheduler.Verdict{}, scheduler.Verdict{
			Reason: ReasonWorkloadGone,
			Message: "the gang's Workload was deleted, or the job has changed since; " +
				"the operator stops the ranks and queues the gang again",
		})
	}
	v := readWorkload(g, wl, slices.Concat(objs, g.ClusterObjects))
	if v.Admission != scheduler.Go || b.binder == nil || g.Dispatched {
		return v
	}
	// Kueue has admitted the gang: if it does not start now, the binder has the reason.
	bound := b.binder.Read(forBinder(g), objs)
	bound.Placement, bound.Admitted = v.Placement, v.Admitted
	return bound
}

// readWorkload returns the verdict on a gang from its Workload and the objects that it refers to.
func readWorkload(g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object) scheduler.Verdict {
	switch {
	case wl.DeletionTimestamp != nil:
		hold := scheduler.Verdict{
			Reason:  scheduler.ReasonTerminating,
			Message: "the gang's Workload is being deleted; the operator then creates it again",
		}
		yield := scheduler.Verdict{
			Judged: true, Reason: scheduler.ReasonTerminating,
			Message: "the gang's Workload is being deleted; the operator stops the ranks and queues the gang again",
		}
		return holdOrYield(g, hold, yield)
	case isTrue(wl, kueuev1beta2.WorkloadFinished):
		v := finishedVerdict(g, wl)
		return holdOrYield(g, v, v)
	case !isActive(wl):
		v := deactivatedVerdict(wl)
		v.Admitted = admittedCounts(g, wl)
		return holdOrYield(g, v, v)
	case isTrue(wl, kueuev1beta2.WorkloadEvicted) && (g.HasPods || isTrue(wl,
		kueuev1beta2.WorkloadQuotaReserved)):
		v := evictedVerdict(g, wl)
		v.Admitted = admittedCounts(g, wl)
		return holdOrYield(g, v, v)
	case isTrue(wl, kueuev1beta2.WorkloadQuotaReserved) && isTrue(wl, kueuev1beta2.WorkloadAdmitted):
		return readAdmitted(g, wl, objs)
	}
	v := waitingVerdict(g, wl)
	return holdOrYield(g, v, v)
}

// holdOrYield returns Hold with the first verdict for a gang without pods, else Yield with the second.
func holdOrYield(g scheduler.Gang, hold, yield scheduler.Verdict) scheduler.Verdict {
	if g.HasPods {
		yield.Admission = scheduler.Yield
		return yield
	}
	hold.Admission = scheduler.Hold
	return hold
}

// readAdmitted returns Go with the placement, or Hold as long as there is none.
func readAdmitted(g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object) scheduler.Verdict {
	if g.Dispatched {
		// The flavors of this cluster do not apply to the nodes of another.
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	}
	counts := admittedCounts(g, wl)
	placements, problem := placementByRole(g, wl, objs)
	if problem != nil && problem.Reason == ReasonPlacementConflict && !g.HasPods {
		*problem = failedVerdict(g, wl, problem.Message)
	}
	if problem != nil {
		problem.Admission, problem.Judged, problem.Admitted = scheduler.Hold, true, counts
		return *problem
	}
	return scheduler.Verdict{Admission: scheduler.Go, Judged: true, Admitted: counts, Placement: placements}
}
