package kueue

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Reasons of our own, where Kueue has no word.
const (
	// ReasonDeactivated: spec.active is false; nothing but a person makes it true again.
	ReasonDeactivated = kueuev1beta2.WorkloadDeactivated
	// ReasonAdmissionCheckPending: quota is reserved, and an admission check has not agreed yet.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonFlavorMissing: the gang is admitted on a ResourceFlavor that does not exist (any more).
	ReasonFlavorMissing = "ResourceFlavorMissing"
	// ReasonPlacementConflict: what flavours and checks add to the pods contradicts their template or each other.
	ReasonPlacementConflict = "PlacementConflict"
	// ReasonWorkloadFinished: somebody declared the Workload finished while the job is not.
	ReasonWorkloadFinished = "WorkloadFinished"
	// ReasonWorkloadGone: pods run without a Workload that stands for them.
	ReasonWorkloadGone = "WorkloadGone"
)

// Read implements scheduler.Backend; the table in the package's documentation says what each state means.
func (b Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	wl := find(g, objs)
	if wl == nil {
		return unless(g, scheduler.Verdict{}, scheduler.Verdict{
			Reason:  ReasonWorkloadGone,
			Message: "the gang's Workload is gone, or what it stood for has changed; the ranks are given back and queue anew",
		})
	}
	v := readWorkload(g, wl, slices.Concat(objs, g.ClusterObjects))
	if v.Admission != scheduler.Go || b.binder == nil {
		return v
	}
	// Kueue has let the gang in: what keeps it from starting now is the binder's to say.
	bound := b.binder.Read(forBinder(g), objs)
	bound.Placement, bound.Admitted = v.Placement, v.Admitted
	return bound
}

// unless gives Hold with the first verdict to a gang without pods, and Yield with the second to one that has some.
func unless(g scheduler.Gang, hold, yield scheduler.Verdict) scheduler.Verdict {
	if g.HasPods {
		yield.Admission = scheduler.Yield
		return yield
	}
	hold.Admission = scheduler.Hold
	return hold
}

func readWorkload(g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object) scheduler.Verdict {
	switch {
	case wl.DeletionTimestamp != nil:
		return unless(g,
			scheduler.Verdict{Reason: scheduler.ReasonTerminating, Message: "the gang's Workload is being deleted; it is made anew once it is gone"},
			scheduler.Verdict{Judged: true, Reason: scheduler.ReasonTerminating, Message: "the gang's Workload is being deleted; the ranks are given back and queue anew"})
	case is(wl, kueuev1beta2.WorkloadFinished):
		v := finished(g, wl)
		return unless(g, v, v)
	case !active(wl):
		v := deactivated(g, wl)
		v.Admitted = admittedCounts(g, wl)
		return unless(g, v, v)
	case is(wl, kueuev1beta2.WorkloadEvicted) && (g.HasPods || is(wl, kueuev1beta2.WorkloadQuotaReserved)):
		v := evicted(g, wl)
		v.Admitted = admittedCounts(g, wl)
		return unless(g, v, v)
	case is(wl, kueuev1beta2.WorkloadQuotaReserved) && is(wl, kueuev1beta2.WorkloadAdmitted):
		return letIn(g, wl, objs)
	}
	v := waiting(g, wl)
	return unless(g, v, v)
}

// letIn is Go with the placement, or Hold as long as the placement cannot be said.
func letIn(g scheduler.Gang, wl *kueuev1beta2.Workload, objs []client.Object) scheduler.Verdict {
	counts := admittedCounts(g, wl)
	places, problem := placement(g, wl, objs)
	if problem != nil {
		problem.Admission, problem.Judged, problem.Admitted = scheduler.Hold, true, counts
		return *problem
	}
	return scheduler.Verdict{Admission: scheduler.Go, Judged: true, Admitted: counts, Placement: places}
}

// admittedCounts of the roles that were let in with fewer ranks than they have (partial admission).
func admittedCounts(g scheduler.Gang, wl *kueuev1beta2.Workload) map[string]int32 {
	var counts map[string]int32
	if wl.Status.Admission == nil {
		return nil
	}
	for _, r := range g.Roles {
		a := assignment(wl, podSetName(r))
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

func assignment(wl *kueuev1beta2.Workload, name kueuev1beta2.PodSetReference) *kueuev1beta2.PodSetAssignment {
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

func condition(wl *kueuev1beta2.Workload, kind string) *metav1.Condition {
	return meta.FindStatusCondition(wl.Status.Conditions, kind)
}

func is(wl *kueuev1beta2.Workload, kind string) bool {
	return meta.IsStatusConditionTrue(wl.Status.Conditions, kind)
}

func active(wl *kueuev1beta2.Workload) bool { return wl.Spec.Active == nil || *wl.Spec.Active }

// oneLine of a sentence of Kueue's or of an admission check's.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
