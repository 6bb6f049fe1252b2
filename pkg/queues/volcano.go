package queues

import (
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func volcanoQueues(objects Objects, in members) []Queue {
	var all []Queue
	for i := range objects.VolcanoQueues {
		from := &objects.VolcanoQueues[i]
		q := Queue{
			Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: from.Name, Parent: from.Spec.Parent,
			State: string(from.Status.State), Resources: volcanoResources(from),
		}
		switch from.Status.State {
		case volcanov1beta1.QueueStateClosed, volcanov1beta1.QueueStateClosing:
			q.StateReason = "an admin has closed the queue: it admits nothing"
		}
		in.put(&q, func(p member) bool {
			return p.scheduler == v1alpha1.SchedulerVolcano && p.queue == from.Name
		})
		all = append(all, q)
	}
	return all
}

// volcanoResources: a resource without a capability is unlimited; one that is not allocated has 0 used.
func volcanoResources(from *volcanov1beta1.Queue) []Resource {
	capability, used := from.Spec.Capability, from.Status.Allocated
	var all []Resource
	for _, name := range names(capability, used, from.Spec.Deserved, from.Spec.Guarantee.Resource) {
		r := Resource{
			Name: string(name), Limit: amount(capability, name), Used: amount(used, name),
			Deserved: amount(from.Spec.Deserved, name), Guaranteed: amount(from.Spec.Guarantee.Resource, name),
			Free: freeOf(capability, used, name),
		}
		r.Unlimited = r.Limit == nil
		if r.Used == nil && used != nil {
			r.Used = new("0")
			if limit, limited := capability[name]; limited {
				r.Free = new(limit.String())
			}
		}
		all = append(all, r)
	}
	return all
}
