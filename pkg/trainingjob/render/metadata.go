package render

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Owner returns the job as the controlling owner of its objects.
func Owner(job *v1alpha1.TrainingJob) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob"))
}

// PodLabels returns the operator's labels on the pod of a rank.
func PodLabels(job *v1alpha1.TrainingJob, rank spec.RankRef, attempt int32) map[string]string {
	l := map[string]string{
		v1alpha1.LabelJobName:              job.Name,
		v1alpha1.LabelAttempt:              strconv.Itoa(int(attempt)),
		v1alpha1.LabelKubeflowJobName:      job.Name,
		v1alpha1.LabelKubeflowReplicaType:  spec.RoleKey(rank.Role),
		v1alpha1.LabelKubeflowReplicaIndex: strconv.Itoa(int(rank.Index)),
		v1alpha1.LabelKubeflowOperatorName: v1alpha1.OperatorName,
	}
	if spec.Leads(rank.Role) {
		l[v1alpha1.LabelKubeflowJobRole] = "master" // Kubeflow's role of the rank that decides the job's end
	}
	return l
}
