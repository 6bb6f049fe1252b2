package simtrainer

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podEnd is how a pod ended, as its kubelet would write it.
type podEnd struct {
	// container is the index of the one that ended with code; all others end with code 0.
	container int
	code      int32
	// message is the container's termination message.
	message string
	at      time.Time
}

// endedStatus is the pod's status after its end. The pod itself stays unchanged.
func endedStatus(pod *corev1.Pod, end podEnd) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	at := metav1.NewTime(end.at)
	status.Phase = corev1.PodSucceeded
	reason := "PodCompleted"
	if end.code != 0 {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, reason, at
		}
	}
	trainer := pod.Spec.Containers[end.container].Name
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		code, message := int32(0), ""
		if c.Name == trainer {
			code, message = end.code, end.message
		}
		terminate(c, code, message, at)
	}
	for i := range status.InitContainerStatuses { // sidecars
		if c := &status.InitContainerStatuses[i]; c.State.Terminated == nil {
			terminate(c, 0, "", at)
		}
	}
	return status
}

// terminate turns a container's status into that of a terminated one.
func terminate(c *corev1.ContainerStatus, code int32, message string, at metav1.Time) {
	ended := &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Completed", Message: message, FinishedAt: at,
	}
	if code != 0 {
		ended.Reason = "Error"
	}
	if c.State.Running != nil {
		ended.StartedAt = c.State.Running.StartedAt
	}
	c.State = corev1.ContainerState{Terminated: ended}
	c.Ready, c.Started = false, new(bool)
}
