package observation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// TestPhaseOfRank: the trainer's container ends the rank, unless the kubelet restarts it or ended the pod.
func TestPhaseOfRank(t *testing.T) {
	const never, onFailure = corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	const runs, done, failed = corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed
	for name, c := range map[string]struct {
		policy corev1.RestartPolicy
		phase  corev1.PodPhase
		reason string
		code   int32
		want   corev1.PodPhase
	}{
		"succeeded, a proxy runs":          {never, runs, "", 0, done},
		"failed, a proxy runs":             {never, runs, "", 1, failed},
		"succeeded, a proxy failed":        {never, failed, "", 0, done},
		"succeeds as its pod is evicted":   {never, failed, evicted, 0, failed},
		"the kubelet does not restart it":  {onFailure, runs, "", 0, done},
		"the kubelet restarts it":          {onFailure, runs, "", 1, runs},
		"the kubelet always restarts it":   {corev1.RestartPolicyAlways, runs, "", 0, runs},
		"it ended with its pod, OnFailure": {onFailure, failed, "", 1, failed},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: c.policy}}
		pod.Status.Phase, pod.Status.Reason = c.phase, c.reason
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "main", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: c.code},
			}},
		}
		if got := (&Rank{Trainer: "main", Pod: pod}).Phase(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTrainerOfInjectedPod: a webhook that puts a container first does not change which one trains.
func TestTrainerOfInjectedPod(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "istio-proxy"}, {Name: "main"}}
	for template, want := range map[string]string{"main": "main", "renamed": "istio-proxy"} {
		if got := trainerOf(framework.Framework{}, template, pod); got != want {
			t.Errorf("the template has %s: the trainer is %s, want %s", template, got, want)
		}
	}
}

// TestStopBesideAProxy: a kubelet that reports the end of a proxy knows of a deletion that came after the end
// of the trainer.
func TestStopBesideAProxy(t *testing.T) {
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	exited := func(name string, at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at)},
		}}
	}
	for after, want := range map[time.Duration]bool{time.Second: true, 10 * time.Second: false} {
		asked, grace := noon.Add(after), int64(30)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Generation: 2, DeletionGracePeriodSeconds: &grace,
			DeletionTimestamp: &metav1.Time{Time: asked.Add(30 * time.Second)},
		}}
		pod.Status.Phase, pod.Status.ObservedGeneration = corev1.PodSucceeded, 2
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			exited("main", noon), exited("proxy", asked.Add(time.Second)),
		}
		if got := stopRequested(pod, "main"); got != want {
			t.Errorf("deleted %s after the end of the trainer: %t, want %t", after, got, want)
		}
	}
}
