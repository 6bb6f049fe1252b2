package observation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// clockMargin is the difference of two times in a pod below which their order is unknown: both have whole
// seconds, and they come from the clocks of different machines.
const clockMargin = 2 * time.Second

// stopRequested reports whether a disruption or a deletion stopped a rank that has ended. Its exit code 0 is
// then no success. If the order of the stop and the end is unknown it returns true: a repeated end of a
// training costs less than a false success.
//
// A pod shows the order as follows (Kubernetes 1.37):
//
//   - A DisruptionTarget condition is set before the pod is deleted (KEP-3329), except by the kubelet, which
//     sets it together with the end (pkg/kubelet/status, mergePodStatus): such a pod ends Succeeded if its
//     containers exit 0, and the condition's time is later than theirs.
//   - The kubelet reports in status.observedGeneration which version of the pod it had when it reported the
//     end, and a deletion raises the generation (KEP-5067): no clock is needed. Older kubelets do not set it.
//     If another container ended after the trainer, the kubelet has reported since, so the version proves
//     the order only if it is the older one.
//   - deletionTimestamp minus the grace period is when the deletion was requested, until the kubelet removes
//     the pod from the API server with a grace period of 0: then it is the time of that removal
//     (apiserver/pkg/registry/rest, BeforeDelete), and the order is lost.
//
// It cannot detect a pod that the kubelet evicts for its own limits, with neither condition nor deletion, if
// its containers exit 0 within the second that they get.
func stopRequested(pod *corev1.Pod, trainer string) bool {
	last := lastExit(pod)
	ended := last
	if t := exitOf(pod, trainer); t != nil && !t.FinishedAt.IsZero() {
		ended = t.FinishedAt.Time
	}
	if c := disrupted(pod); c != nil {
		byKubelet := c.Reason == corev1.PodReasonTerminationByKubelet
		if byKubelet || ended.IsZero() || !c.LastTransitionTime.After(ended.Add(clockMargin)) {
			return true
		}
	}
	if pod.DeletionTimestamp == nil {
		return false
	}
	if seen := pod.Status.ObservedGeneration; seen > 0 && pod.Generation > 0 {
		before := seen < pod.Generation // its kubelet reported the end before it knew of any deletion
		if before || Ended(pod) && !ended.Before(last) {
			return !before
		}
	}
	requested, known := deletionRequested(pod)
	return !known || ended.IsZero() || !requested.After(ended.Add(clockMargin))
}

// deletionRequested returns when the deletion of a pod was requested, if known (see stopRequested).
func deletionRequested(pod *corev1.Pod) (at time.Time, known bool) {
	grace := pod.DeletionGracePeriodSeconds
	if pod.DeletionTimestamp == nil || grace == nil || *grace == 0 {
		return time.Time{}, false
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*grace) * time.Second), true
}

// lastExit returns when the last of the pod's containers ended; zero if no container has ended.
func lastExit(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, t := range terminations(pod) {
		if t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}
