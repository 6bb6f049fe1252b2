package render

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// completeResources gives a pod the requests and the limits that the API server would give it, or demand. The
// group, the quota and the accounting need them before there is a pod, and a template is not defaulted as a
// pod is (k8s.io/kubernetes/pkg/apis/core/v1, SetDefaults_Pod).
func completeResources(pod *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			r.Requests = withMissing(r.Requests, r.Limits, nil)
			r.Limits = withMissing(r.Limits, r.Requests, spec.Extended)
		}
	}
	if r := pod.Resources; r != nil && len(r.Limits) > 0 {
		ofContainers := resourcehelper.AggregateContainerRequests(&corev1.Pod{Spec: *pod},
			resourcehelper.PodResourcesOptions{})
		r.Requests = withMissing(r.Requests, ofContainers, func(name corev1.ResourceName) bool {
			return name == corev1.ResourceCPU || name == corev1.ResourceMemory
		})
		r.Requests = withMissing(r.Requests, r.Limits, resourcehelper.IsSupportedPodLevelResource)
	}
}

// withMissing adds what a list does not name and another one does, of some resources; nil: of all.
func withMissing(
	list, from corev1.ResourceList, of func(corev1.ResourceName) bool,
) corev1.ResourceList {
	for name, q := range from {
		if _, set := list[name]; set || of != nil && !of(name) {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = q.DeepCopy()
	}
	return list
}
