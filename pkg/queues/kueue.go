package queues

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func clusterQueues(objects Objects, in members) []Queue {
	leads := map[string]string{} // from namespace/LocalQueue to its ClusterQueue
	for i := range objects.LocalQueues {
		lq := &objects.LocalQueues[i]
		leads[lq.Namespace+"/"+lq.Name] = string(lq.Spec.ClusterQueue)
	}
	var all []Queue
	for i := range objects.ClusterQueues {
		from := &objects.ClusterQueues[i]
		q := Queue{
			Scheduler: v1alpha1.SchedulerKueue, Kind: "ClusterQueue", Name: from.Name,
			Parent: string(from.Spec.CohortName), Resources: kueueResources(from),
		}
		q.State, q.StateReason = kueueState(from.Spec.StopPolicy, from.Status.Conditions,
			kueuev1beta2.ClusterQueueActive)
		in.put(&q, func(p member) bool {
			return p.scheduler == v1alpha1.SchedulerKueue && leads[p.job.Namespace+"/"+p.queue] == from.Name
		})
		all = append(all, q)
	}
	return all
}

// localQueues have no quota of their own.
func localQueues(objects Objects, in members) []Queue {
	var all []Queue
	for i := range objects.LocalQueues {
		from := &objects.LocalQueues[i]
		q := Queue{
			Scheduler: v1alpha1.SchedulerKueue, Kind: "LocalQueue", Namespace: from.Namespace, Name: from.Name,
			Parent: string(from.Spec.ClusterQueue),
		}
		q.State, q.StateReason = kueueState(from.Spec.StopPolicy, from.Status.Conditions,
			kueuev1beta2.LocalQueueActive)
		for _, f := range from.Status.FlavorsReservation {
			for _, used := range f.Resources {
				q.Resources = append(q.Resources, Resource{
					Name: string(used.Name), Flavor: string(f.Name), Used: new(used.Total.String()),
				})
			}
		}
		in.put(&q, func(p member) bool {
			return p.scheduler == v1alpha1.SchedulerKueue && p.job.Namespace == from.Namespace && p.queue == from.Name
		})
		all = append(all, q)
	}
	return all
}

// kueueState is Active, Inactive, or the policy with which an admin stopped the queue.
func kueueState(
	stop *kueuev1beta2.StopPolicy, conditions []metav1.Condition, active string,
) (state, reason string) {
	if stop != nil && *stop != kueuev1beta2.None {
		return string(*stop), "an admin has stopped the queue: it admits nothing"
	}
	c := meta.FindStatusCondition(conditions, active)
	switch {
	case c == nil:
		return "", ""
	case c.Status == metav1.ConditionTrue:
		return "Active", ""
	}
	return "Inactive", c.Message
}

// kueueResources counts reserved amounts as used, since no other workload can use them.
func kueueResources(from *kueuev1beta2.ClusterQueue) []Resource {
	type key struct {
		flavor kueuev1beta2.ResourceFlavorReference
		name   corev1.ResourceName
	}
	used := map[key]kueuev1beta2.ResourceUsage{}
	for _, f := range from.Status.FlavorsReservation {
		for _, r := range f.Resources {
			used[key{f.Name, r.Name}] = r
		}
	}
	var all []Resource
	for _, group := range from.Spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			for _, quota := range flavor.Resources {
				r := Resource{
					Name: string(quota.Name), Flavor: string(flavor.Name), Guaranteed: new(quota.NominalQuota.String()),
				}
				limit, limited := kueueLimit(quota, from.Spec.CohortName != "")
				r.Unlimited = !limited // but for the limits of its cohort
				if limited {
					r.Limit = new(limit.String())
				}
				if u, known := used[key{flavor.Name, quota.Name}]; known {
					r.Used, r.Borrowed = new(u.Total.String()), new(u.Borrowed.String())
					if limited {
						r.Free = free(limit, u.Total)
					}
				}
				all = append(all, r)
			}
		}
	}
	return all
}

// kueueLimit is the nominal quota plus the borrowing limit. Without a cohort nothing can be borrowed.
func kueueLimit(quota kueuev1beta2.ResourceQuota, cohort bool) (limit resource.Quantity, limited bool) {
	limit = quota.NominalQuota.DeepCopy()
	switch {
	case !cohort:
		return limit, true
	case quota.BorrowingLimit == nil:
		return limit, false
	}
	limit.Add(*quota.BorrowingLimit)
	return limit, true
}
