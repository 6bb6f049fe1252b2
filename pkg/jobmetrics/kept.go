package jobmetrics

import (
	"cmp"
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// kept returns at most limit jobs: unfinished ones first, then the youngest.
func kept(jobs []*v1alpha1.TrainingJob, limit int) []*v1alpha1.TrainingJob {
	sorted := slices.Clone(jobs)
	slices.SortFunc(sorted, func(a, b *v1alpha1.TrainingJob) int {
		return cmp.Or(
			cmp.Compare(finished(a), finished(b)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return sorted[:min(len(sorted), limit)]
}

func finished(job *v1alpha1.TrainingJob) int {
	if job.Status.Phase.Finished() {
		return 1
	}
	return 0
}
