package jobmetrics

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// rankSeries names the pods of the ranks of gangs that hold nodes: what joins a rank with what is measured
// of its pod, such as the use of its GPUs. At most limit ranks have one; it returns how many are left out.
// A name of a rank says its role, for several roles may have an index 0.
func rankSeries(jobs []*v1alpha1.TrainingJob, limit int) (list []series, leftOut int) {
	for _, job := range jobs {
		if !holdsNodes(job) {
			continue
		}
		for _, role := range spec.RoleOrder {
			ranks := int(job.Status.ReplicaStatuses[role].Replicas)
			told := min(ranks, limit-len(list))
			leftOut += ranks - told
			for i := range told {
				name := fmt.Sprintf("%s-%d", spec.RoleKey(role), i)
				pod := spec.PodName(job.Name, spec.RankRef{Role: role, Index: int32(i)})
				list = append(list, series{nameRankInfo, 1, []string{job.Namespace, job.Name, name, pod}})
			}
		}
	}
	return list, leftOut
}

// holdsNodes reports whether ranks of the job are, or may be, on nodes of this cluster.
func holdsNodes(job *v1alpha1.TrainingJob) bool {
	switch job.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining:
		return !spec.ManagedElsewhere(job)
	}
	return false
}
