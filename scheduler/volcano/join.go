package volcano

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Join implements scheduler.Backend. It sets the role even if minTaskMember is not used: Volcano then tries
// one rank of a role on the nodes instead of all of them (util/predicate_helper.go).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = b.options.SchedulerName
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, schedulingv1beta1.KubeGroupNameAnnotationKey, GroupName(g))
	if role, ok := g.RoleOf(pod); ok {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1alpha1.TaskSpecKey, role.Name)
	}
	g.JoinPriority(pod)
}
