package volcano

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var _ scheduler.Preemptor = Backend{}

// MayPreempt implements scheduler.Preemptor: the action preempt evicts pods of the preemptor's own queue
// (actions/preempt/preempt.go). Between queues the action reclaim takes back what a queue deserves,
// regardless of priorities.
func (Backend) MayPreempt(waiting, running scheduler.Contender) bool {
	return cmp.Or(waiting.Queue, defaultQueue) == cmp.Or(running.Queue, defaultQueue) &&
		!slices.ContainsFunc(running.Pods, exempt)
}

// exempt reports whether Volcano does not preempt a pod (api/pod_info.go, GetPodPreemptable): the annotation
// precedes the label, and a value that is not a boolean exempts, too.
func exempt(pod *corev1.Pod) bool {
	value, set := pod.Annotations[schedulingv1beta1.PodPreemptable]
	if !set {
		value, set = pod.Labels[schedulingv1beta1.PodPreemptable]
	}
	preemptable, err := strconv.ParseBool(value)
	return set && (err != nil || !preemptable)
}
