package coscheduling

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Explainer = Backend{}

var elasticQuotaKind = schedulingv1alpha1.SchemeGroupVersion.WithKind("ElasticQuota")

// StateKinds implements scheduler.Explainer.
func (Backend) StateKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{elasticQuotaKind}
}

// Matters implements scheduler.Explainer. The status of a quota is ignored, because the controller that
// writes it is optional.
func (Backend) Matters(before, after client.Object) bool {
	b, hadBefore := before.(*schedulingv1alpha1.ElasticQuota)
	a, hasAfter := after.(*schedulingv1alpha1.ElasticQuota)
	return !hadBefore || !hasAfter || !equality.Semantic.DeepEqual(b.Spec, a.Spec)
}

// Explain implements scheduler.Explainer: it adds the numbers of the max of the namespace's ElasticQuota,
// which the scheduler's messages lack. It does so only for extended resources, whose holders are known.
// CapacityScheduling also counts the bound pods of a namespace (pkg/capacityscheduling, Reserve and the
// handlers of pods). For other limits the scheduler's message is used.
func (Backend) Explain(
	g scheduler.Gang, _ []client.Object, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	if !s.Complete {
		return scheduler.Explanation{}, false
	}
	quota := quotaOf(g.Namespace, s.Objects[elasticQuotaKind])
	if quota == nil {
		return scheduler.Explanation{}, false
	}
	s.Partial = false // all pods of the gang's own namespace are visible
	held := func(name corev1.ResourceName) scheduler.Held {
		return s.Held(name, "namespace "+g.Namespace, func(h scheduler.Holder) bool {
			return h.Namespace == g.Namespace
		})
	}
	limit, used := scheduler.Amounts{}, scheduler.Amounts{}
	for name, n := range scheduler.AmountsOf(quota.Spec.Max) {
		if !strings.Contains(string(name), "/") {
			continue
		}
		limit[name] = n
		used[name] = held(name).Total
	}
	return scheduler.ExplainQuota(fmt.Sprintf("elastic quota %s of namespace %s", quota.Name,
		quota.Namespace),
		"elasticquotas.scheduling.x-k8s.io/"+quota.Name, s.UnboundRequests(g), limit, used,
		func(name corev1.ResourceName) string { return held(name).Clause })
}

// quotaOf returns the quota of a namespace, the first by name if there are several, or nil.
func quotaOf(namespace string, objects []client.Object) *schedulingv1alpha1.ElasticQuota {
	var found []*schedulingv1alpha1.ElasticQuota
	for _, o := range objects {
		if q, ok := o.(*schedulingv1alpha1.ElasticQuota); ok && q.Namespace == namespace {
			found = append(found, q)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, func(a, b *schedulingv1alpha1.ElasticQuota) int {
		return strings.Compare(a.Name, b.Name)
	})
}
