package kueue

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var (
	localQueueKind   = kueuev1beta2.SchemeGroupVersion.WithKind("LocalQueue")
	clusterQueueKind = kueuev1beta2.SchemeGroupVersion.WithKind("ClusterQueue")
)

// Prefixes of Explanation.Object.
const (
	localQueueResource   = "localqueues.kueue.x-k8s.io/"
	clusterQueueResource = "clusterqueues.kueue.x-k8s.io/"
)

// queues holds the queues of the cluster.
type queues struct {
	local   map[client.ObjectKey]*kueuev1beta2.LocalQueue
	cluster map[string]*kueuev1beta2.ClusterQueue
}

// newQueues returns the queues of the cluster, and false when they are not known.
func newQueues(s scheduler.ClusterState) (queues, bool) {
	locals, localsKnown := s.Objects[localQueueKind]
	clusters, clustersKnown := s.Objects[clusterQueueKind]
	q := queues{
		local:   map[client.ObjectKey]*kueuev1beta2.LocalQueue{},
		cluster: map[string]*kueuev1beta2.ClusterQueue{},
	}
	for _, o := range locals {
		if l, ok := o.(*kueuev1beta2.LocalQueue); ok {
			q.local[client.ObjectKeyFromObject(l)] = l
		}
	}
	for _, o := range clusters {
		if c, ok := o.(*kueuev1beta2.ClusterQueue); ok {
			q.cluster[c.Name] = c
		}
	}
	return q, localsKnown && clustersKnown
}

// share reports whether a holder takes its resources from the ClusterQueue or from its cohort.
func (q queues) share(h scheduler.Holder, c *kueuev1beta2.ClusterQueue) bool {
	local := q.local[client.ObjectKey{Namespace: h.Namespace, Name: h.Queue}]
	if local == nil {
		return false
	}
	other := q.cluster[string(local.Spec.ClusterQueue)]
	if other == nil {
		return false
	}
	return other.Name == c.Name || c.Spec.CohortName != "" && other.Spec.CohortName == c.Spec.CohortName
}

// isStopped reports whether the policy keeps a queue from starting jobs.
func isStopped(p *kueuev1beta2.StopPolicy) bool { return p != nil && *p != kueuev1beta2.None }

// inactiveMessage returns why a ClusterQueue admits nothing, or "" when it is active.
func inactiveMessage(q *kueuev1beta2.ClusterQueue) string {
	c := meta.FindStatusCondition(q.Status.Conditions, kueuev1beta2.ClusterQueueActive)
	if c != nil && c.Status == metav1.ConditionFalse {
		return oneLine(c.Message)
	}
	return ""
}

// flavorQuota is what a ClusterQueue has of one resource in one flavor.
type flavorQuota struct {
	flavor        string
	free, nominal int64
}

// flavorQuotas returns the quota of a resource in each flavor of a ClusterQueue; none if the queue does not
// limit it.
func flavorQuotas(name corev1.ResourceName, c *kueuev1beta2.ClusterQueue) []flavorQuota {
	var all []flavorQuota
	for _, group := range c.Spec.ResourceGroups {
		for _, fl := range group.Flavors {
			for _, r := range fl.Resources {
				if r.Name == name {
					nominal := scheduler.AmountsOf(corev1.ResourceList{name: r.NominalQuota})[name]
					all = append(all, flavorQuota{
						flavor: string(fl.Name), free: max(0, nominal-reservedQuota(name, fl.Name, c)),
						nominal: nominal,
					})
				}
			}
		}
	}
	return all
}

// reservedQuota returns how much of a resource is reserved in a flavor of a ClusterQueue.
func reservedQuota(
	name corev1.ResourceName, flavor kueuev1beta2.ResourceFlavorReference, c *kueuev1beta2.ClusterQueue,
) int64 {
	for _, fl := range c.Status.FlavorsReservation {
		for _, r := range fl.Resources {
			if fl.Name == flavor && r.Name == name {
				return scheduler.AmountsOf(corev1.ResourceList{name: r.Total})[name]
			}
		}
	}
	return 0
}
