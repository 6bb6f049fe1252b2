package kueue

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Join implements scheduler.Backend. Kueue finds the pods of an admitted Workload by the label and the
// annotation, for instance to remove their topology gates (pkg/controller/tas/topology_ungater.go).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, v scheduler.Verdict) {
	if b.binder != nil {
		b.binder.Join(pod, forBinder(g), v)
	} else {
		if pod.Spec.SchedulerName == "" {
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		}
		g.JoinPriority(pod)
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueuev1beta2.WorkloadAnnotation, WorkloadName(g))
	if role, ok := g.RoleOf(pod); ok {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, podSetLabel, string(podSetName(role)))
		v.Placement[role.Name].ApplyTo(pod)
	}
}
