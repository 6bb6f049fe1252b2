package coscheduling

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Join implements scheduler.Backend.
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = b.options.SchedulerName
	metav1.SetMetaDataLabel(&pod.ObjectMeta, schedulingv1alpha1.PodGroupLabel, GroupName(g))
	g.JoinPriority(pod)
}
