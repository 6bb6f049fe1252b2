package queues

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

func elasticQuotas(objects Objects, in members) []Queue {
	var all []Queue
	for i := range objects.ElasticQuotas {
		from := &objects.ElasticQuotas[i]
		q := Queue{
			Scheduler: v1alpha1.SchedulerCoscheduling, Kind: "ElasticQuota", Namespace: from.Namespace,
			Name: from.Name,
		}
		for _, name := range names(from.Spec.Min, from.Spec.Max, from.Status.Used) {
			r := Resource{
				Name: string(name), Guaranteed: amount(from.Spec.Min, name), Limit: amount(from.Spec.Max, name),
				Used: amount(from.Status.Used, name), Free: freeOf(from.Spec.Max, from.Status.Used, name),
			}
			r.Unlimited = r.Limit == nil
			q.Resources = append(q.Resources, r)
		}
		in.put(&q, func(p member) bool {
			return p.scheduler == v1alpha1.SchedulerCoscheduling && p.job.Namespace == from.Namespace
		})
		all = append(all, q)
	}
	return all
}
