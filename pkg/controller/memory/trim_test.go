package memory

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestLongMessages: of a rank that waits nothing is kept that grows with the cluster.
func TestLongMessages(t *testing.T) {
	const lacks = "0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu. preemption: "
	for name, c := range map[string]struct{ message, want string }{
		"short": {lacks, lacks},
		"long": {
			lacks + strings.Repeat("No victims found on node ä", 1000),
			(lacks + strings.Repeat("No victims found on node ä", 1000))[:maxMessage-3] + "...",
		},
		"cut within a letter": {"a" + strings.Repeat("ä", 1000), "a" + strings.Repeat("ä", 510) + "..."},
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Message: c.message},
		}}}
		TrimPod(pod)
		if got := pod.Status.Conditions[0].Message; got != c.want {
			t.Errorf("%s: %d bytes are kept: %q", name, len(got), got)
		}
	}
}

// TestTrimmedPodShowsItsRestartPolicy: with it decisions know whether a trainer that ended starts again.
func TestTrimmedPodShowsItsRestartPolicy(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}}
	TrimPod(pod)
	if got := pod.Spec.RestartPolicy; got != corev1.RestartPolicyNever {
		t.Errorf("the cached pod has restart policy %q", got)
	}
}

// TestTrimmedPodShowsThatItSendsBeats: decisions do not watch a gang whose ranks send none.
func TestTrimmedPodShowsThatItSendsBeats(t *testing.T) {
	for name, want := range map[string]bool{checkpoint.EnvBeatFile: true, "PATH": false} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "trainer", Env: []corev1.EnvVar{{Name: "HOME", Value: "/"}, {Name: name, Value: "/x"}}},
		}}}
		TrimPod(pod)
		if got := observation.SendsBeats(pod); got != want {
			t.Errorf("with %s: got %t, want %t", name, got, want)
		}
	}
}

// TestTrimmedPodCountsRestarts: restarts of init containers count, and those of native sidecars do not.
func TestTrimmedPodCountsRestarts(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.InitContainers = []corev1.Container{
		{Name: "fetch", Image: "fetch:1"},
		{Name: "proxy", Image: "proxy:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "fetch", RestartCount: 3}, {Name: "proxy", RestartCount: 5},
	}
	TrimPod(pod)
	if got := observation.RestartCount(pod, "trainer"); got != 3 {
		t.Errorf("%d restarts of the cached pod count, want 3", got)
	}
}

// TestImageOfAContainerThatWaits: a blocker names the image that cannot be pulled, so a cached pod has it for
// as long as its container waits, and no longer.
func TestImageOfAContainerThatWaits(t *testing.T) {
	const image = "registry.example.com/team-a/bert:1"
	states := map[bool]corev1.ContainerState{
		true:  {Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		false: {Running: &corev1.ContainerStateRunning{}},
	}
	for waits, state := range states {
		status := []corev1.ContainerStatus{{Name: "trainer", Image: image, State: state}}
		if got := trimContainers(status)[0].Image; (got == image) != waits {
			t.Errorf("it waits: %t, and the cached pod has the image %q", waits, got)
		}
	}
}
