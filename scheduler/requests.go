package scheduler

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// RequestsOf returns the total requests of a pod of a template, with init containers, sidecars and overhead,
// as kube-scheduler counts them. The API server sets missing requests to the limits in pods, but not in
// templates (k8s.io/kubernetes/pkg/apis/core/v1, SetDefaults_Pod). The template itself stays as the user
// wrote it: Kueue compares it with that of a Workload which has quota.
func RequestsOf(template *corev1.PodSpec) corev1.ResourceList {
	pod := &corev1.Pod{Spec: *template.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			r.Requests = withMissing(r.Requests, r.Limits)
		}
	}
	if r := pod.Spec.Resources; r != nil && len(r.Limits) > 0 {
		ofContainers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
		maps.DeleteFunc(ofContainers, func(name corev1.ResourceName, _ resource.Quantity) bool {
			return name != corev1.ResourceCPU && name != corev1.ResourceMemory
		})
		r.Requests = withMissing(withMissing(r.Requests, ofContainers), r.Limits)
	}
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}
