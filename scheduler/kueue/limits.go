package kueue

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.QueueLimiter = Backend{}

// QueueLimits implements scheduler.QueueLimiter: the nominal quota of the ClusterQueue, summed over its
// flavors. Kueue decides which flavor a gang gets, and what it borrows from the cohort.
func (Backend) QueueLimits(g scheduler.Gang, s scheduler.ClusterState) ([]scheduler.QueueLimit, bool) {
	queues, known := newQueues(s)
	local := queues.local[client.ObjectKey{Namespace: g.Namespace, Name: g.Queue}]
	if !known || local == nil || isStopped(local.Spec.StopPolicy) {
		return nil, false
	}
	q := queues.cluster[string(local.Spec.ClusterQueue)]
	if q == nil || isStopped(q.Spec.StopPolicy) || inactiveMessage(q) != "" {
		return nil, false
	}
	limit := scheduler.QueueLimit{
		Name: q.Name, Key: Name + "/" + q.Name, Limit: scheduler.Amounts{}, Free: scheduler.Amounts{},
		Strict: q.Spec.QueueingStrategy == kueuev1beta2.StrictFIFO, Lends: q.Spec.CohortName != "",
	}
	for _, group := range q.Spec.ResourceGroups {
		limit.Lends = limit.Lends || len(group.Flavors) > 1
		for _, flavor := range group.Flavors {
			for _, r := range flavor.Resources {
				nominal := scheduler.AmountsOf(corev1.ResourceList{r.Name: r.NominalQuota})[r.Name]
				limit.Limit[r.Name] += nominal
				limit.Free[r.Name] += max(0, nominal-reservedQuota(r.Name, flavor.Name, q))
			}
		}
	}
	return []scheduler.QueueLimit{limit}, true
}
