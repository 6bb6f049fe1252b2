package simtrainer

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// killTime is when the kubelet kills the containers of a deleted pod; nil for a pod that is not deleted.
func killTime(pod *corev1.Pod) *time.Time {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	return &pod.DeletionTimestamp.Time // the time of the request plus the grace period
}

// terminationTime is when SIGTERM was sent; nil for a pod that is not deleted.
func terminationTime(pod *corev1.Pod) *time.Time {
	kill := killTime(pod)
	if kill == nil {
		return nil
	}
	at := *kill
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	return &at
}

// isResolver reports whether a pod runs `agent resolve`.
func isResolver(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver
}

// isSimulated reports whether the simulator runs a pod, if it is on a fake node.
func isSimulated(pod *corev1.Pod) bool {
	_, trains := pod.Annotations[localcluster.AnnotationTrainer]
	return trains || isResolver(pod)
}

// hasEnded reports whether the pod's containers have ended.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
