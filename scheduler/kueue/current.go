package kueue

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// podSetsAnnotation holds a hash of the Workload's pod sets as last applied. The pod sets from the API server
// cannot be compared: other admission plugins may add to them.
const podSetsAnnotation = "mlplatform.example.com/pod-sets"

// recallsAnnotation is how often the gang had returned lent capacity when its Workload was made. Absent:
// never.
const recallsAnnotation = "mlplatform.example.com/recalls"

func recallsOf(g scheduler.Gang) string {
	if g.Recalls == 0 {
		return ""
	}
	return strconv.Itoa(int(g.Recalls))
}

// workloadsIn returns the existing Workloads among objects, the oldest first.
func workloadsIn(objs []client.Object) []*kueuev1beta2.Workload {
	var all []*kueuev1beta2.Workload
	for _, o := range objs {
		if wl, ok := o.(*kueuev1beta2.Workload); ok && wl != nil && wl.Name != "" {
			all = append(all, wl)
		}
	}
	slices.SortFunc(all, func(a, b *kueuev1beta2.Workload) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// current returns the Workload that stands for the gang: the one with quota, else the oldest. One that is
// being deleted stands for the gang until there is another, since its successor must wait for its deletion.
// Nil means that none does, and that existing ones must be deleted. If the job's spec is invalid, it is the
// Workload that the attempt was submitted with; if the job names a prebuilt one, it is that one.
func current(g scheduler.Gang, objs []client.Object) *kueuev1beta2.Workload {
	all := workloadsIn(objs)
	if g.Submitted != "" {
		return named(all, g.Submitted)
	}
	if name := prebuiltName(g); name != "" {
		return named(all, name)
	}
	var best *kueuev1beta2.Workload
	for _, wl := range all {
		if standsFor(g, wl) && (best == nil || isSettled(wl) && !isSettled(best)) {
			best = wl
		}
	}
	if best == nil && len(all) > 0 && !slices.ContainsFunc(all, isKept) {
		return all[0]
	}
	return best
}

func named(all []*kueuev1beta2.Workload, name string) *kueuev1beta2.Workload {
	i := slices.IndexFunc(all, func(wl *kueuev1beta2.Workload) bool { return wl.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

func isKept(wl *kueuev1beta2.Workload) bool { return wl.DeletionTimestamp == nil }

// isSettled reports whether the Workload has quota or is finished. Its pod sets and its queue then cannot
// change (pkg/webhooks, ValidateWorkloadUpdate; the validation rules of the CRD).
func isSettled(wl *kueuev1beta2.Workload) bool {
	return isTrue(wl, kueuev1beta2.WorkloadQuotaReserved) || isTrue(wl, kueuev1beta2.WorkloadFinished)
}

// standsFor reports whether a Workload is, or can become, the gang's. One without quota is updated in place
// and keeps its place in the queue. One with quota must have the gang's pod sets. Before any rank runs it
// must also have the gang's queue and topology, unless it is about to lose the quota. Once ranks run, edits
// of the job's labels and annotations take effect only after the quota is released. One from before a recall
// gives its quota back: its successor has an admission gate again.
func standsFor(g scheduler.Gang, wl *kueuev1beta2.Workload) bool {
	switch {
	case !isKept(wl), wl.Annotations[recallsAnnotation] != recallsOf(g):
		return false
	case !isSettled(wl):
		return true
	case !hasPodSets(g, wl):
		return false
	}
	leaving := isTrue(wl, kueuev1beta2.WorkloadEvicted) && !isTrue(wl, kueuev1beta2.WorkloadFinished)
	return g.HasPods || leaving || string(wl.Spec.QueueName) == g.Queue && hasTopology(g, wl)
}

// hasPodSets reports whether the Workload was made with the pod sets of the gang's roles. One without a hash
// was made by another controller, or by an operator that wrote none.
func hasPodSets(g scheduler.Gang, wl *kueuev1beta2.Workload) bool {
	g.JobAnnotations = nil
	if hash, ok := wl.Annotations[podSetsAnnotation]; ok {
		return hash == hashOf(podSets(g))
	}
	return equality.Semantic.DeepEqual(wl.Spec.PodSets, podSets(g))
}

// hasTopology reports whether the Workload, which has the pod sets of the gang's roles, also has the topology
// that the job's annotations request.
func hasTopology(g scheduler.Gang, wl *kueuev1beta2.Workload) bool {
	return slices.EqualFunc(wl.Spec.PodSets, podSets(g), func(a, b kueuev1beta2.PodSet) bool {
		return equality.Semantic.DeepEqual(a.TopologyRequest, b.TopologyRequest)
	})
}

// keepSettled restores the immutable fields of a settled Workload.
func keepSettled(spec *kueuev1beta2.WorkloadSpec, before kueuev1beta2.WorkloadSpec) {
	spec.QueueName = before.QueueName
	spec.MaximumExecutionTimeSeconds = before.MaximumExecutionTimeSeconds
	spec.PreemptionGates = before.PreemptionGates // Kueue closes an open one at the next eviction
	for i := range spec.PodSets {
		if i < len(before.PodSets) {
			spec.PodSets[i].TopologyRequest = before.PodSets[i].TopologyRequest
		}
	}
}
