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

// Matters implements scheduler.Explainer: of the status nothing is read, for its controller need not run.
func (Backend) Matters(before, after client.Object) bool {
	b, hadBefore := before.(*schedulingv1alpha1.ElasticQuota)
	a, hasAfter := after.(*schedulingv1alpha1.ElasticQuota)
	return !hadBefore || !hasAfter || !equality.Semantic.DeepEqual(b.Spec, a.Spec)
}

// Explain implements scheduler.Explainer: the max of the namespace's ElasticQuota in numbers, which the scheduler's words on the
// ranks lack. Of extended resources alone, for of those it is known who holds how much; CapacityScheduling counts the bound pods
// of a namespace too (pkg/capacityscheduling, Reserve and the handlers of pods). What is over the other limits it says itself.
func (Backend) Explain(g scheduler.Gang, _ []client.Object, f scheduler.ClusterState) (scheduler.Explanation, bool) {
	if !f.Complete {
		return scheduler.Explanation{}, false
	}
	quota := quotaOf(g.Namespace, f.Objects[elasticQuotaKind])
	if quota == nil {
		return scheduler.Explanation{}, false
	}
	inNamespace := func(h scheduler.Holder) bool { return h.Namespace == g.Namespace }
	holders := func(name corev1.ResourceName) []scheduler.Holder { return f.HoldersOf(name, inNamespace) }
	limit, used := scheduler.Amounts{}, scheduler.Amounts{}
	for name, n := range scheduler.AmountsOf(quota.Spec.Max) {
		if !strings.Contains(string(name), "/") {
			continue
		}
		limit[name] = n
		for _, h := range holders(name) {
			used[name] += h.Held[name]
		}
	}
	return scheduler.ExplainQuota(fmt.Sprintf("elastic quota %s of namespace %s", quota.Name, quota.Namespace),
		"elasticquotas.scheduling.x-k8s.io/"+quota.Name, f.UnboundRequests(g), limit, used, holders)
}

// quotaOf a namespace, which should have one; of several the first by name.
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
	return slices.MinFunc(found, func(a, b *schedulingv1alpha1.ElasticQuota) int { return strings.Compare(a.Name, b.Name) })
}
