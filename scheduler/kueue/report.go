package kueue

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// SyncStatus implements scheduler.Reporter. Each Workload gets one write at a time: every write raises the resourceVersion that
// the next one must name. The order of the cases is that of Kueue's own reconciler, but that an eviction goes before what is
// optional (Kueue's issue 14811): nothing may keep quota from those who wait for it.
//
//	finished, being deleted, job gone, job over, evicted   once no pod is left: let go, or hand the quota back
//	otherwise                                              PodsReady, then reclaimablePods
func (b Backend) SyncStatus(g scheduler.Gang, life scheduler.GangStatus, objs []client.Object) []scheduler.Write {
	var workloads []*kueuev1beta2.Workload
	for _, o := range objs {
		if wl, ok := o.(*kueuev1beta2.Workload); ok && wl != nil && wl.Name != "" {
			workloads = append(workloads, wl)
		}
	}
	slices.SortFunc(workloads, func(a, b *kueuev1beta2.Workload) int { return cmp.Compare(a.Name, b.Name) })
	var writes []scheduler.Write
	for _, wl := range workloads {
		if w := report(g, life, wl); w != nil {
			writes = append(writes, *w)
		}
	}
	return writes
}

func report(g scheduler.Gang, life scheduler.GangStatus, wl *kueuev1beta2.Workload) *scheduler.Write {
	over := is(wl, kueuev1beta2.WorkloadFinished)
	leaving := over || wl.DeletionTimestamp != nil || life.Gone || life.Finished ||
		is(wl, kueuev1beta2.WorkloadEvicted) && is(wl, kueuev1beta2.WorkloadQuotaReserved)
	if leaving && life.PodsLeft > 0 {
		return nil // their quota is in use
	}
	switch {
	case over || wl.DeletionTimestamp != nil:
		return letGo(wl)
	case life.Gone:
		// Kueue frees what lost its owner reference; what still has one is never freed by it.
		return finish(wl, kueuev1beta2.WorkloadFinishedReasonOwnerNotFound, "The workload's owner no longer exists", life.Now)
	case life.Finished:
		reason := kueuev1beta2.WorkloadFinishedReasonFailed
		if life.Success {
			reason = kueuev1beta2.WorkloadFinishedReasonSucceeded
		}
		return finish(wl, reason, life.Message, life.Now)
	case leaving:
		return handBack(wl, life.Now)
	case wl.Name != WorkloadName(g):
		return nil // of a former spec, and about to be deleted
	}
	if w := podsReady(wl, life); w != nil {
		return w
	}
	return reclaim(g, life, wl)
}

// letGo takes our finalizer off.
func letGo(wl *kueuev1beta2.Workload) *scheduler.Write {
	without := wl.DeepCopy()
	if !controllerutil.RemoveFinalizer(without, kueuev1beta2.ResourceInUseFinalizerName) {
		return nil
	}
	return &scheduler.Write{Base: wl.DeepCopy(), Object: without, Why: "letting the Workload go"}
}

// reclaim tells Kueue of ranks that have ended for good while others still do. While quota is reserved the numbers may only grow
// (pkg/webhooks, validateReclaimablePodsUpdate). Under partial admission nothing is told: Kueue counts from the full size,
// and after an eviction it would admit the gang with the ranks that are left of a part.
func reclaim(g scheduler.Gang, life scheduler.GangStatus, wl *kueuev1beta2.Workload) *scheduler.Write {
	if !life.Over || wl.Status.Admission == nil || len(admittedCounts(g, wl)) > 0 {
		return nil
	}
	told := map[kueuev1beta2.PodSetReference]int32{}
	for _, p := range wl.Status.ReclaimablePods {
		told[p.Name] = p.Count
	}
	var pods []kueuev1beta2.ReclaimablePod
	news := false
	for _, r := range g.Roles {
		name := podSetName(r)
		n := max(min(life.Ended[r.Name], r.Replicas), told[name])
		if n == 0 && !slices.ContainsFunc(wl.Status.ReclaimablePods, func(p kueuev1beta2.ReclaimablePod) bool { return p.Name == name }) {
			continue
		}
		news = news || n != told[name]
		pods = append(pods, kueuev1beta2.ReclaimablePod{Name: name, Count: n})
	}
	if !news {
		return nil
	}
	patch := patchOf(wl)
	patch.Status.ReclaimablePods = pods
	return &scheduler.Write{Object: patch, Subresource: subresourceStatus, FieldOwner: ownerReclaimable, Why: "telling Kueue which ranks need no quota any more"}
}

const subresourceStatus = "status"

// patchOf names the object of an apply to the status, as Kueue does (pkg/workload/patching, baseSSAWorkload): with the
// resourceVersion, so that nothing is decided over a state that has passed.
func patchOf(wl *kueuev1beta2.Workload) *kueuev1beta2.Workload {
	patch := &kueuev1beta2.Workload{}
	patch.SetGroupVersionKind(workloadKind)
	patch.UID, patch.Name, patch.Namespace = types.UID(wl.UID), wl.Name, wl.Namespace
	patch.Generation, patch.ResourceVersion = wl.Generation, wl.ResourceVersion
	copied := wl.DeepCopy()
	patch.Labels, patch.Annotations = copied.Labels, copied.Annotations
	return patch
}
