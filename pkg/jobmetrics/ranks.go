package jobmetrics

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// rankSeries returns one series for each rank that holds a node, with the name of its pod. It joins a rank
// with the metrics of its pod, such as GPU utilization. At most limit ranks have one; leftOut is the number
// of the others. The name of a rank has its role, since several roles can have an index 0.
func rankSeries(jobs []*v1alpha1.TrainingJob, limit int) (list []series, leftOut int) {
	for _, job := range jobs {
		if !spec.HoldsNodes(job) {
			continue
		}
		for _, role := range spec.RoleOrder {
			ranks := int(job.Status.ReplicaStatuses[role].Replicas)
			shown := min(ranks, limit-len(list))
			leftOut += ranks - shown
			for i := range shown {
				name := fmt.Sprintf("%s-%d", spec.RoleKey(role), i)
				pod := spec.PodName(job.Name, spec.RankRef{Role: role, Index: int32(i)})
				list = append(list, series{nameRankInfo, 1, []string{job.Namespace, job.Name, name, pod}})
			}
		}
	}
	return list, leftOut
}
