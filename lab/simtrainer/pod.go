package simtrainer

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// killTime is when the kubelet ends what still runs of a pod that somebody wants gone.
func killTime(pod *corev1.Pod) *time.Time {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	return &pod.DeletionTimestamp.Time // the request's time and the grace
}

// termTime is when SIGTERM was sent.
func termTime(pod *corev1.Pod) *time.Time {
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

// isResolver tells a pod that runs `agent resolve`.
func isResolver(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver
}

// isPlayed says whether the simulator plays a pod, if it is on a fake node.
func isPlayed(pod *corev1.Pod) bool {
	_, trains := pod.Annotations[localcluster.AnnotationTrainer]
	return trains || isResolver(pod)
}
