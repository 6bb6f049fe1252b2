package observation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestTakenAway checks which pods count as taken by a disruption, and the reason.
func TestTakenAway(t *testing.T) {
	bound := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.Status.Phase = corev1.PodRunning
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	target := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason,
			}}
		}
	}
	failed := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason }
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	succeeded := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	withdrawn := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	message := func(text string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Message = text }
	}
	ended := func(reason string, code int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Name: "trainer"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code},
			}}}
		}
	}
	endedBeforeItWasDeleted := func(p *corev1.Pod) {
		p.Generation, p.Status.ObservedGeneration = 2, 1
	}
	cases := map[string]struct {
		pod  *corev1.Pod
		want string // "": no disruption
	}{
		"preempted by a scheduler": {bound(target("PreemptionByScheduler")), v1alpha1.ReasonPreempted},
		"drained":                  {bound(target("EvictionByEvictionAPI")), v1alpha1.ReasonEvicted},
		"ended by a taint":         {bound(target("DeletionByTaintManager")), v1alpha1.ReasonNodeLost},
		"collected with its node":  {bound(target("DeletionByPodGC")), v1alpha1.ReasonNodeLost},
		"a kubelet under pressure": {bound(failed("Evicted")), v1alpha1.ReasonEvicted},
		"over a container's limit": {bound(failed("Evicted"),
			message(`Container trainer exceeded its local ephemeral storage limit "1Gi". `)), ""},
		"over the pod's limit": {bound(failed("Evicted"),
			message("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ")), ""},
		"over an emptyDir's limit": {bound(failed("Evicted"),
			message(`Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". `)), ""},
		"under pressure, with what a container used": {bound(failed("Evicted"), message("The node was low on "+
			"resource: ephemeral-storage. Container trainer was using 5Gi, request is 0, has larger consumption of "+
			"ephemeral-storage. ")), v1alpha1.ReasonEvicted},
		"rejected under pressure": {bound(failed("Evicted"),
			message("Pod was rejected: The node had condition: [DiskPressure]. ")), v1alpha1.ReasonEvicted},
		"rejected for its topology":     {bound(failed("TopologyAffinityError")), v1alpha1.ReasonEvicted},
		"rejected for its own spec":     {bound(failed("SysctlForbidden")), ""},
		"failed, then deleted":          {bound(deleted, failed(""), endedBeforeItWasDeleted), ""},
		"rejected by a kubelet":         {bound(failed("OutOfnvidia.com/gpu")), v1alpha1.ReasonEvicted},
		"failed":                        {bound(failed("")), ""},
		"failed on its pod's deadline":  {bound(failed("DeadlineExceeded")), ""},
		"deleted while it ran":          {bound(deleted), v1alpha1.ReasonPodDeleted},
		"deleted before it held a node": {bound(deleted, unbound), ""},
		"succeeded, then deleted":       {bound(deleted, succeeded), ""},
		"failed because it was deleted": {bound(deleted, failed("")), v1alpha1.ReasonPodDeleted},
		"on a node that restarted": {
			bound(failed(""), ended("ContainerStatusUnknown", 137)), v1alpha1.ReasonNodeLost,
		},
		"whose task containerd lost": {bound(failed(""), ended("Unknown", 255)), v1alpha1.ReasonNodeLost},
		"failed with the same code":  {bound(failed(""), ended("Error", 255)), ""},
		"killed":                     {bound(failed(""), ended("Error", 137)), ""},
		"a mark that was taken back": {bound(target("x"), withdrawn), ""},
	}
	for name, c := range cases {
		l, taken := takenAway(&Rank{Pod: c.pod, Trainer: "trainer"})
		if taken != (c.want != "") || (taken && l.Reason != c.want) {
			t.Errorf("%s: taken %t for %q, want %q", name, taken, l.Reason, c.want)
		}
	}
}

// A pod that has no node is deleted at once; for the moment that this takes nothing hangs.
func TestOnLostNode(t *testing.T) {
	now := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	for node, want := range map[string]bool{"": false, "ready": false, "gone": true} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now}},
			Spec:       corev1.PodSpec{NodeName: node},
		}
		if got := onLostNode(pod, map[string]NodeState{"ready": {Ready: true}}, now); got != want {
			t.Errorf("on node %q: %t", node, got)
		}
	}
}
