package native

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Join implements scheduler.Backend. All pods of a group must have the same scheduler name
// (schedule_one_podgroup.go, frameworkForPodGroup).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	group := GroupName(g)
	pod.Spec.SchedulerName = b.options.SchedulerName
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	g.JoinPriority(pod)
}
