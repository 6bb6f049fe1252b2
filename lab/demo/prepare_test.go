package demo

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFreeGPUs(t *testing.T) {
	eight := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	node := corev1.Node{Status: corev1.NodeStatus{Allocatable: eight}}
	pod := func(name string, phase corev1.PodPhase) corev1.Pod {
		container := corev1.Container{Resources: corev1.ResourceRequirements{Requests: eight}}
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{container}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	four := []corev1.Node{node, node, node, node}
	const running, ended = corev1.PodRunning, corev1.PodSucceeded
	cases := map[string]struct {
		nodes []corev1.Node
		pods  []corev1.Pod
		want  string // part of the error, "" for none
	}{
		"all are free":    {four, []corev1.Pod{pod("a", ended)}, ""},
		"too few":         {four[:2], nil, "exactly 32 GPUs, this one has 16"},
		"some are in use": {four, []corev1.Pod{pod("b", running), pod("a", running)}, "default/a, default/b"},
		"many are in use": {
			four, []corev1.Pod{pod("d", running), pod("a", running), pod("b", running), pod("c", running)},
			"default/a, default/b, default/c and 1 more",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := judgeFreeGPUs(c.nodes, c.pods, remedies("/tmp/cluster", "native"))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, part := range []string{c.want, "bin/localcluster down --dir /tmp/cluster\n"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q in it", err, part)
				}
			}
		})
	}
}
