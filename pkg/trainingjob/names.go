package trainingjob

import (
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TrainerContainer is the container's name in the simple form, and in the full form the first of these names that a
// template has marks its trainer (Kubeflow's names); else its first container is the trainer.
const TrainerContainer = "trainer"

// PodName is stable over attempts, so that the API server itself refuses a second pod for a rank.
func PodName(job string, rank RankRef) string {
	return fmt.Sprintf("%s-%s-%d", job, strings.ToLower(string(rank.Role)), rank.Index)
}

// ServiceName is the headless Service that gives the ranks their host names.
func ServiceName(job string) string { return job }

// RankHost is the name under which the other ranks of the namespace reach a rank.
func RankHost(job string, rank RankRef) string { return PodName(job, rank) + "." + ServiceName(job) }

// PodLabels on every pod of a rank.
func PodLabels(job *v1alpha1.TrainingJob, rank RankRef, attempt int32) map[string]string {
	l := map[string]string{
		v1alpha1.LabelJobName:              job.Name,
		v1alpha1.LabelAttempt:              fmt.Sprint(attempt),
		v1alpha1.LabelKubeflowJobName:      job.Name,
		v1alpha1.LabelKubeflowReplicaType:  strings.ToLower(string(rank.Role)),
		v1alpha1.LabelKubeflowReplicaIndex: fmt.Sprint(rank.Index),
		v1alpha1.LabelKubeflowOperatorName: v1alpha1.OperatorName,
	}
	if Leads(rank.Role) {
		l[v1alpha1.LabelKubeflowJobRole] = "master" // Kubeflow's word for the rank that decides the job's end
	}
	return l
}
