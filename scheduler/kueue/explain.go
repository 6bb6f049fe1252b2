package kueue

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Explainer = Backend{}

// StateKinds implements scheduler.Explainer.
func (Backend) StateKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{localQueueKind, clusterQueueKind}
}

// Matters implements scheduler.Explainer. The status of a queue counts what happens in it; only whether the
// queue is active affects the reasons. The rest is on the Workload itself.
func (Backend) Matters(before, after client.Object) bool {
	switch a := after.(type) {
	case *kueuev1beta2.LocalQueue:
		b, ok := before.(*kueuev1beta2.LocalQueue)
		return !ok || b == nil || !equality.Semantic.DeepEqual(a.Spec, b.Spec)
	case *kueuev1beta2.ClusterQueue:
		b, ok := before.(*kueuev1beta2.ClusterQueue)
		return !ok || b == nil || !equality.Semantic.DeepEqual(a.Spec, b.Spec) ||
			inactiveMessage(a) != inactiveMessage(b)
	}
	return true
}

// Explain implements scheduler.Explainer. It explains a missing, stopped or inactive queue, others that are
// served first, and the numbers of a quota that is too small. It includes Kueue's messages about flavors.
// Nodes are irrelevant until Kueue has admitted the gang, because the flavors that select them are unknown.
func (Backend) Explain(
	g scheduler.Gang, objs []client.Object, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	wl := current(g, objs)
	if _, unfit := prebuiltVerdict(g, wl); unfit || g.Queue == "" {
		return scheduler.Explanation{}, false // Read has returned it
	}
	if wl == nil || isTrue(
		wl, kueuev1beta2.WorkloadQuotaReserved,
	) || isTrue(wl, kueuev1beta2.WorkloadFinished) ||
		!isActive(wl) {
		return scheduler.Explanation{}, false
	}
	q, known := newQueues(s)
	if !known {
		return scheduler.Explanation{}, false
	}
	if e, ok := localQueueUnusable(g, q); ok {
		return e, true
	}
	local := q.local[client.ObjectKey{Namespace: g.Namespace, Name: g.Queue}]
	name := string(local.Spec.ClusterQueue)
	if e, ok := clusterQueueUnusable(g, name, q); ok {
		return e, true
	}
	v := waitingVerdict(g, wl)
	switch v.Reason {
	case scheduler.ReasonNotJudged:
		if e, ok := behindOthers(g, q.cluster[name], q, s); ok {
			return e, true
		}
	case scheduler.ReasonQuotaExceeded, scheduler.ReasonExceedsQuota:
		return quotaTooSmallFor(g, v, q.cluster[name], q, s), true
	case scheduler.ReasonInsufficientResources:
		if g.Within != "" {
			return scheduler.Explanation{}, false // scheduler.Explain has the numbers of the best domain
		}
	}
	return scheduler.Explanation{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}, true
}
