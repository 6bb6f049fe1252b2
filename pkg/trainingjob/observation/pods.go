package observation

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ended reports whether a pod has ended: it holds no resources any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready reports whether the pod is ready.
func Ready(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// disrupted returns the pod's DisruptionTarget condition if it is true; else nil.
func disrupted(pod *corev1.Pod) *corev1.PodCondition {
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == t {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// termination of a container. After a final one the kubelet does not restart the container.
type termination struct {
	*corev1.ContainerStateTerminated
	final bool
}

func terminations(pod *corev1.Pod) []termination {
	var all []termination
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if t := s.LastTerminationState.Terminated; t != nil {
			all = append(all, termination{t, false})
		}
		if t := s.State.Terminated; t != nil {
			all = append(all, termination{t, isFinal(pod, t)})
		}
	}
	return all
}

// started reports whether any of the pod's containers ever ran.
func started(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return pod.Status.Phase == corev1.PodRunning ||
		pod.Status.Phase == corev1.PodFailed && pod.Spec.NodeName != "" && len(pod.Status.ContainerStatuses) == 0
}

// Started returns when a container of the pod last started; nil if it never did.
func Started(pod *corev1.Pod, container string) *metav1.Time {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			if at := lastStart(s); !at.IsZero() {
				return new(metav1.NewTime(at))
			}
		}
	}
	return nil
}

// lastStart returns when the container last started; zero if it never did.
func lastStart(s *corev1.ContainerStatus) time.Time {
	switch {
	case s.State.Running != nil:
		return s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		return s.State.Terminated.StartedAt.Time
	case s.LastTerminationState.Terminated != nil:
		return s.LastTerminationState.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// lastChange returns the latest time of a change that the pod records.
func lastChange(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for i := range pod.Status.Conditions {
		later(pod.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range pod.Status.ContainerStatuses {
		switch st := pod.Status.ContainerStatuses[i].State; {
		case st.Running != nil:
			later(st.Running.StartedAt.Time)
		case st.Terminated != nil:
			later(st.Terminated.FinishedAt.Time)
		}
	}
	return last
}

func valuesByKey(m map[string]string) []string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// Unschedulable returns the scheduler's message on a pod that it could not place; "" if there is none.
func Unschedulable(pod *corev1.Pod) string {
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return Line(c.Message)
	}
	return ""
}
