package observation

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// The end of the trainer's container is the end of its rank, whatever other containers of the pod do: a proxy
// or a log shipper runs until the pod is deleted, and the kubelet stops native sidecars after the trainer.

// trainerOf returns the name of the container that trains in a pod of a role: that of the role's template,
// since an admission webhook can put another container first. After an edit of the template that renames it,
// the pod decides.
func trainerOf(fw framework.Framework, ofTemplate string, pod *corev1.Pod) string {
	if pod == nil || slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == ofTemplate
	}) {
		return ofTemplate
	}
	return fw.Trainer(&pod.Spec).Name
}

// Phase returns Succeeded or Failed if the rank has ended, else the phase of its last pod; "" without one. If
// the kubelet gives a reason for a failed pod, it stopped or rejected the pod, and no exit code counts.
func (r *Rank) Phase() corev1.PodPhase {
	pod := r.LastPod()
	if pod == nil {
		return ""
	}
	switch end := exitOf(pod, r.Trainer); {
	case end == nil, pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "":
		return pod.Status.Phase
	case end.ExitCode == 0:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// exitOf returns how a container of a pod ended, if the kubelet does not restart it; else nil.
func exitOf(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if t := s.State.Terminated; s.Name == container && t != nil && isFinal(pod, t) {
			return t
		}
	}
	return nil
}

// isFinal reports whether the kubelet does not restart a terminated container.
func isFinal(pod *corev1.Pod, t *corev1.ContainerStateTerminated) bool {
	if Ended(pod) || pod.DeletionTimestamp != nil {
		return true
	}
	switch pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return true
	case corev1.RestartPolicyOnFailure:
		return t.ExitCode == 0
	}
	return false
}

// Outlived reports whether the rank has ended while its pod still lives: another container runs.
func (r *Rank) Outlived() bool {
	return r.Pod != nil && !Ended(r.Pod) && (r.State == RankSucceeded || r.State == RankFailed)
}

// ownEnd is how long the pod of a rank that has ended can take to end by itself, before the operator deletes
// it. A pod that ends by itself keeps its logs. The kubelet stops native sidecars within the pod's grace
// period, 30 s by default, and other containers can detect the end of the trainer.
const ownEnd = 30 * time.Second

// EndsAloneUntil returns until when the operator waits for the pod of a rank that has ended (see Outlived) to
// end by itself; zero if it does not wait. It waits for the logs of a success or a failure. A gang that
// drains for another cause releases its nodes at once.
func (o *Observation) EndsAloneUntil(r *Rank) time.Time {
	end := exitOf(r.Pod, r.Trainer)
	d := o.Job.Status.Drain
	if end == nil || d != nil && d.Cause != v1alpha1.CauseFailure {
		return time.Time{}
	}
	return end.FinishedAt.Add(ownEnd)
}

// MustRemember reports whether the success of a rank must be written now: its pod is about to be deleted.
func (o *Observation) MustRemember(r *Rank) bool {
	return r.State == RankSucceeded && !r.Remembered && r.Outlived() && !o.Now.Before(o.EndsAloneUntil(r))
}
