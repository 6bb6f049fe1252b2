package queues

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// resourceQuotas returns the quotas that bound requests of pods. A ResourceQuota admits pods of every
// scheduler in the order of their creation; the jobs are still listed by priority.
func resourceQuotas(objects Objects, in members) []Queue {
	var all []Queue
	for i := range objects.ResourceQuotas {
		from := &objects.ResourceQuotas[i]
		q := Queue{Kind: "ResourceQuota", Namespace: from.Namespace, Name: from.Name}
		for _, name := range names(from.Spec.Hard) {
			requested, is := requestOf(name)
			if !is {
				continue
			}
			q.Resources = append(q.Resources, Resource{
				Name: requested, Limit: amount(from.Spec.Hard, name), Used: amount(from.Status.Used, name),
				Free: freeOf(from.Spec.Hard, from.Status.Used, name),
			})
		}
		if len(q.Resources) == 0 {
			continue // it counts objects
		}
		in.put(&q, func(p member) bool { return p.job.Namespace == from.Namespace })
		all = append(all, q)
	}
	return all
}

// requestOf returns the resource whose requests a key of a ResourceQuota bounds.
func requestOf(key corev1.ResourceName) (string, bool) {
	if key == corev1.ResourceCPU || key == corev1.ResourceMemory {
		return string(key), true
	}
	name, is := strings.CutPrefix(string(key), "requests.")
	return name, is && name != "storage"
}
