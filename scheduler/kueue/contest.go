package kueue

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Contest implements scheduler.QuotaSystem. It covers the quotas of the gang's own ClusterQueue; Kueue
// decides about borrowing and preemption in the rest of the cohort.
func (Backend) Contest(
	group []client.Object, requests map[string]scheduler.Amounts, s scheduler.ClusterState,
) (scheduler.Contest, bool) {
	wl := contender(group)
	if wl == nil {
		return scheduler.Contest{}, false
	}
	c := scheduler.Contest{Value: effectivePriority(wl), Spared: boosted(wl)}
	if a := wl.Status.Admission; a != nil {
		c.Queue, c.Holds, c.AdmissionGate = string(a.ClusterQueue), held(a), admissionGateOf(wl)
		c.Preempted = isTrue(wl, kueuev1beta2.WorkloadPreempted)
		if reserved := conditionOf(wl, kueuev1beta2.WorkloadQuotaReserved); reserved != nil {
			c.Reserved = reserved.LastTransitionTime
		}
		return c, !c.Reserved.IsZero()
	}
	queue := clusterQueueOf(wl, s)
	if queue == nil {
		return c, false
	}
	c.Queue, c.Free = queue.Name, freeByFlavor(queue)
	c.Needs = quotaNeeds(wl, requests, queue)
	c.Gate, c.GateSince = gateOf(wl)
	c.AdmissionGate, c.NotAdmissible = admissionGateOf(wl), notAdmissible(wl)
	return c, true
}

// contender returns the Workload that has quota, else the oldest that is not being deleted.
func contender(group []client.Object) *kueuev1beta2.Workload {
	var waits *kueuev1beta2.Workload
	for _, wl := range workloadsIn(group) {
		switch {
		case wl.Status.Admission != nil:
			return wl
		case waits == nil && isKept(wl) && !isTrue(wl, kueuev1beta2.WorkloadFinished):
			waits = wl
		}
	}
	return waits
}

// clusterQueueOf returns the ClusterQueue in which a Workload waits; nil: unknown. It builds no index of the
// queues, since it is called for every waiting gang.
func clusterQueueOf(wl *kueuev1beta2.Workload, s scheduler.ClusterState) *kueuev1beta2.ClusterQueue {
	for _, o := range s.Objects[localQueueKind] {
		local, ok := o.(*kueuev1beta2.LocalQueue)
		if !ok || local.Namespace != wl.Namespace || local.Name != string(wl.Spec.QueueName) {
			continue
		}
		for _, o := range s.Objects[clusterQueueKind] {
			if queue, ok := o.(*kueuev1beta2.ClusterQueue); ok && queue.Name == string(local.Spec.ClusterQueue) {
				return queue
			}
		}
	}
	return nil
}

// effectivePriority is the number by which Kueue compares Workloads (pkg/util/priority, EffectivePriority),
// without the operator's boost.
func effectivePriority(wl *kueuev1beta2.Workload) int32 {
	value := ptr.Deref(wl.Spec.Priority, 0)
	if by, err := strconv.ParseInt(wl.Annotations[boostAnnotation], 10, 32); err == nil && !marked(wl) {
		value += int32(by)
	}
	return value
}

// held returns what an admission takes of each flavor.
func held(a *kueuev1beta2.Admission) map[string]scheduler.Amounts {
	holds := map[string]scheduler.Amounts{}
	for _, set := range a.PodSetAssignments {
		for name, n := range scheduler.AmountsOf(set.ResourceUsage) {
			flavor := string(set.Flavors[name])
			if holds[flavor] == nil {
				holds[flavor] = scheduler.Amounts{}
			}
			holds[flavor][name] += n
		}
	}
	return holds
}

// freeByFlavor returns what the ClusterQueue has left of its own quotas. A flavor belongs to one resource
// group.
func freeByFlavor(c *kueuev1beta2.ClusterQueue) map[string]scheduler.Amounts {
	free := map[string]scheduler.Amounts{}
	for _, group := range c.Spec.ResourceGroups {
		for _, name := range group.CoveredResources {
			for _, quota := range flavorQuotas(name, c) {
				if free[quota.flavor] == nil {
					free[quota.flavor] = scheduler.Amounts{}
				}
				free[quota.flavor][name] = quota.free
			}
		}
	}
	return free
}

// quotaNeeds returns what the ranks of each pod set request of each resource group together: Kueue takes all
// of it from one flavor.
func quotaNeeds(
	wl *kueuev1beta2.Workload, requests map[string]scheduler.Amounts, c *kueuev1beta2.ClusterQueue,
) []scheduler.QuotaNeed {
	var needs []scheduler.QuotaNeed
	for _, set := range wl.Spec.PodSets {
		for _, group := range c.Spec.ResourceGroups {
			need := scheduler.QuotaNeed{Requests: scheduler.Amounts{}}
			for role, ofRank := range requests {
				if podSetName(scheduler.Role{Name: role}) == set.Name {
					addCovered(need.Requests, ofRank, int64(set.Count), group.CoveredResources)
				}
			}
			for _, flavor := range group.Flavors {
				need.Flavors = append(need.Flavors, string(flavor.Name))
			}
			if len(need.Requests) > 0 {
				needs = append(needs, need)
			}
		}
	}
	return needs
}

func addCovered(to, ofRank scheduler.Amounts, ranks int64, covered []corev1.ResourceName) {
	for name, n := range ofRank {
		if n > 0 && slices.Contains(covered, name) {
			to[name] += n * ranks
		}
	}
}
