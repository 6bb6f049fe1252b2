package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestPods: podOf gives the same for a pod and its trimmed copy.
func TestPods(t *testing.T) {
	bert := Job{UID: "uid-bert", Namespace: "team-a", Name: "bert"}
	rank := func(change func(*corev1.Pod)) *corev1.Pod {
		return newRank("team-a", "bert", "worker", 3, "a", 2, change)
	}
	for name, of := range map[string]struct {
		pod  *corev1.Pod
		want *Pod
	}{
		"a rank": {
			rank(func(*corev1.Pod) {}), &Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2, State: Running}},
		},
		"a rank that is ready and has restarted": {
			rank(func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
					{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 1}}
			}),
			&Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2, State: Running, Ready: true, Restarts: 3}},
		},
		"a rank that is not ready": {
			rank(func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			}), &Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2, State: Running}},
		},
		"a rank that starts": {
			rank(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
			&Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2, State: Starting}},
		},
		"a rank that is being deleted": {
			rank(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
			&Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2, State: Ending}},
		},
		"a rank whose node is lost": {
			rank(func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }),
			&Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 2}},
		},
		"a rank without GPUs": {
			newRank("team-a", "bert", "ps", 0, "a", 0), &Pod{bert, Rank{Role: "ps", State: Running}},
		},
		"a rank that is not bound": {rank(func(p *corev1.Pod) { p.Spec.NodeName = "" }), nil},
		"a rank that has ended":    {rank(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), nil},
		"a rank that has failed":   {rank(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil},
		"another pod": {
			newPod("team-b", "secret", "a", 4), &Pod{Rank: Rank{GPUs: 4}},
		},
		"another pod that ends": {
			newPod("team-b", "secret", "a", 4, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
			&Pod{Rank: Rank{GPUs: 4}},
		},
		"another pod without GPUs": {newPod("team-b", "web", "a", 0), nil},
		"an init container that needs more": {
			rank(func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(3)}}}
			}), &Pod{bert, Rank{Role: "worker", Index: 3, GPUs: 3, State: Running}},
		},
		"a resolver": {
			rank(func(p *corev1.Pod) { p.Labels[v1alpha1.LabelComponent] = v1alpha1.ComponentResolver }),
			&Pod{Rank: Rank{GPUs: 2}},
		},
		"labels of a rank without an owner": {
			rank(func(p *corev1.Pod) { p.OwnerReferences = nil }), &Pod{Rank: Rank{GPUs: 2}},
		},
		"the owner is of another API": {
			rank(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" }),
			&Pod{Rank: Rank{GPUs: 2}},
		},
		"the owner is of another kind": {
			rank(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }), &Pod{Rank: Rank{GPUs: 2}},
		},
		"labels of another job": {
			rank(func(p *corev1.Pod) { p.Labels[v1alpha1.LabelJobName] = "other" }), &Pod{Rank: Rank{GPUs: 2}},
		},
		"an invalid index": {
			rank(func(p *corev1.Pod) { p.Labels[v1alpha1.LabelKubeflowReplicaIndex] = "-1" }),
			&Pod{Rank: Rank{GPUs: 2}},
		},
	} {
		trimmed, err := counting().trimPod(of.pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		for what, p := range map[string]*corev1.Pod{"original": of.pod, "trimmed": trimmed.(*corev1.Pod)} {
			got, kept := counting().podOf(p)
			if kept != (of.want != nil) {
				t.Errorf("%s, %s: kept is %v", name, what, kept)
			} else if kept {
				if diff := cmp.Diff(*of.want, got); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, what, diff)
				}
			}
			if p.UID != of.pod.UID || p.Name != of.pod.Name {
				t.Errorf("%s, %s: its key differs", name, what)
			}
		}
	}
}

// TestTrimmedPods: a trimmed pod has no spec, above all no environment.
func TestTrimmedPods(t *testing.T) {
	fill := func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}
		p.Spec.NodeSelector, p.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "secret"}
	}
	for name, p := range map[string]*corev1.Pod{
		"a rank": newRank("team-a", "bert", "worker", 0, "a", 1, fill),
		"another": newPod("team-b", "notebook", "a", 1, fill, func(p *corev1.Pod) {
			p.Labels = map[string]string{"x": "y"}
		}),
		"a small": newPod("team-b", "web", "a", 0, fill),
	} {
		got, _ := counting().trimPod(p)
		trimmed := got.(*corev1.Pod)
		if len(trimmed.Annotations)+len(trimmed.Spec.NodeSelector) > 0 ||
			len(trimmed.Spec.Containers) > 0 && len(trimmed.Spec.Containers[0].Env) > 0 {
			t.Errorf("%s keeps %+v", name, trimmed)
		}
		if name != "a rank" && len(trimmed.Labels) > 0 {
			t.Errorf("%s keeps labels", name)
		}
		if name == "a small" && trimmed.Spec.NodeName != "" {
			t.Errorf("%s keeps its node", name)
		}
	}
}
