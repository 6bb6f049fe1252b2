package fakescheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestTakesPods(t *testing.T) {
	taint := func(key string) corev1.Node {
		return corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key,
			Effect: corev1.TaintEffectNoSchedule}}}}
	}
	state := func(s corev1.ConditionStatus) corev1.Node {
		return corev1.Node{
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: s}}},
		}
	}
	cases := map[string]struct {
		reason string
		node   corev1.Node
		want   bool
	}{
		"no condition": {"a bare API server has no kubelets", corev1.Node{}, true},
		"ready":        {"", state(corev1.ConditionTrue), true},
		"not ready":    {"", state(corev1.ConditionFalse), false},
		"unknown":      {"its kubelet no longer reports", state(corev1.ConditionUnknown), false},
		"cordoned":     {"", corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, false},
		"tainted":      {"tolerations are ignored", taint("example.com/reserved"), false},
		"new": {"the API server's own taint stays where no controller removes it",
			taint(corev1.TaintNodeNotReady), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := takesPods(&tc.node); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// The scheduler reads exactly what the Backend writes.
func TestTheSchedulerReadsWhatTheBackendWrites(t *testing.T) {
	g := scheduler.Gang{
		Name: "bert", Namespace: "ns", Attempt: 2, PriorityClass: "high", MinAvailable: 2,
		Roles: []scheduler.Role{{Name: "Master", Replicas: 1, MinAvailable: 1},
			{Name: "Worker", Replicas: 3, MinAvailable: 1}},
		MinResources: corev1.ResourceList{GPU: resource.MustParse("4")},
	}
	objs, err := Backend{}.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	classes := []schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 9},
		{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, Value: 1, GlobalDefault: true},
	}
	want := Group{Key: Key{"ns", "bert"}, Priority: 9, Attempt: 2,
		Shares: []Share{{"Master", 1}, {"Worker", 1}}, GPUs: 4}
	if diff := cmp.Diff(want, groupOf(objs[0].(*unstructured.Unstructured), classes)); diff != "" {
		t.Errorf("group (-want +got):\n%s", diff)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bert-worker-0", Namespace: "ns", UID: "u",
			Labels: map[string]string{scheduler.LabelRole: "worker"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{GPU: resource.MustParse("2")}}},
			{Name: "sidecar"},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	stranger := Pod{Key: Key{"ns", "bert-worker-0"}, UID: "u", GPUs: 2, Succeeded: true}
	if diff := cmp.Diff(stranger, podOf(pod)); diff != "" {
		t.Errorf("pod that did not join (-want +got):\n%s", diff)
	}
	Backend{}.Join(pod, g, scheduler.Verdict{})
	member := stranger
	member.Group, member.Role, member.Attempt = "bert", "Worker", 2
	if diff := cmp.Diff(member, podOf(pod)); diff != "" {
		t.Errorf("pod that joined (-want +got):\n%s", diff)
	}
}
