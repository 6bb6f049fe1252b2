package observation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// clockMargin is how far apart two times in a pod may be while their order is unknown: both have whole
// seconds, and they come from the clocks of different machines.
const clockMargin = 2 * time.Second

// toldToEnd reports whether a pod that has ended was, or may have been, told to end before it did: by the
// mark of a disruption or by a deletion. Its exit code 0 then says only that it obeyed. Where the order
// cannot be told the answer is yes, since a repeated end of a training costs less than a success that was
// none.
//
// What a pod shows of the order (Kubernetes 1.37):
//
//   - Whoever marks a pod as DisruptionTarget does so before it deletes the pod (KEP-3329), except for the
//     kubelet, which sends its mark with the end itself (pkg/kubelet/status, mergePodStatus): such a pod ends
//     Succeeded when its containers exit 0, and the mark's time is later than theirs.
//   - The kubelet says with status.observedGeneration which version of the pod it knew when it reported the
//     end, and a deletion raises the generation (KEP-5067): no clock is needed. Older kubelets do not say it.
//   - The deletion's time less its grace period is when the deletion was asked for, until the kubelet removes
//     the pod from the API server with a grace period of 0: then it is the time of that removal
//     (apiserver/pkg/registry/rest, BeforeDelete), and the order is lost.
//
// A pod whose kubelet evicts it for its own limits, with neither mark nor deletion, and whose containers exit
// 0 within the second that they are given, cannot be told from one that was through.
func toldToEnd(pod *corev1.Pod) bool {
	ended := lastExit(pod)
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
		return seen >= pod.Generation // else its kubelet reported the end before it knew of any deletion
	}
	asked, known := deletionAsked(pod)
	return !known || ended.IsZero() || !asked.After(ended.Add(clockMargin))
}

// deletionAsked is when the deletion of a pod was asked for, where that is known (see toldToEnd).
func deletionAsked(pod *corev1.Pod) (at time.Time, known bool) {
	grace := pod.DeletionGracePeriodSeconds
	if pod.DeletionTimestamp == nil || grace == nil || *grace == 0 {
		return time.Time{}, false
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*grace) * time.Second), true
}

// lastExit is when the last of the pod's containers ended; zero where no container says so.
func lastExit(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, t := range terminations(pod) {
		if t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}
