package jobmetrics

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// sums over all jobs.
func sums(jobs []*v1alpha1.TrainingJob) []series {
	type key struct{ name, namespace, value string }
	counts := map[key]int{}
	for _, job := range jobs {
		counts[key{nameJobs, job.Namespace, string(phaseOf(job))}]++
		if reason := blockedBy(job); reason != "" {
			counts[key{nameBlockedJobs, job.Namespace, reason}]++
		}
	}
	list := make([]series, 0, len(counts))
	for k, n := range counts { // in any order: a registry sorts what it gathers
		list = append(list, series{k.name, float64(n), []string{k.namespace, k.value}})
	}
	return list
}
