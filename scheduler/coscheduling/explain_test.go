package coscheduling_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
)

func TestExplain(t *testing.T) {
	const gpu corev1.ResourceName = "nvidia.com/gpu"
	quota := func(namespace, gpus string) client.Object {
		return &schedulingv1alpha1.ElasticQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gpus"},
			Spec: schedulingv1alpha1.ElasticQuotaSpec{Max: corev1.ResourceList{
				gpu: resource.MustParse(gpus), corev1.ResourceCPU: resource.MustParse("1"),
			}},
		}
	}
	g := scheduler.Gang{Namespace: "team-a", Name: "bert", MinResources: corev1.ResourceList{
		gpu: resource.MustParse("8"), corev1.ResourceCPU: resource.MustParse("64"),
	}}
	held := func(namespace, name string, gpus int64) scheduler.Holder {
		return scheduler.Holder{Namespace: namespace, Name: name, Held: scheduler.Amounts{gpu: gpus}}
	}
	const object = "elasticquotas.scheduling.x-k8s.io/gpus "
	for name, tc := range map[string]struct {
		why        string
		quota      client.Object
		incomplete bool
		want       string
	}{
		"another namespace's": {why: "it does not count", quota: quota("team-b", "4")},
		"capacity":            {why: "the holders of CPUs are unknown", quota: quota("team-a", "16")},
		"incomplete state": {
			why: "the holders of GPUs are unknown", quota: quota("team-a", "4"), incomplete: true,
		},
		"used up": {
			why: "by its own namespace alone", quota: quota("team-a", "10"),
			want: "QuotaExceeded " + object + "it needs 8 nvidia.com/gpu; elastic quota gpus of " +
				"namespace team-a has 4 nvidia.com/gpu free of 10; held by team-a/llama (6)",
		},
		"never": {
			why: "whichever jobs end", quota: quota("team-a", "4"),
			want: "ExceedsQuota " + object + "it can never start: it needs 8 nvidia.com/gpu and the " +
				"limit of elastic quota gpus of namespace team-a is 4 nvidia.com/gpu",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := coscheduling.New(coscheduling.Options{})
			e, ok := b.Explain(g, nil, scheduler.ClusterState{
				Complete: !tc.incomplete,
				Holders:  []scheduler.Holder{held("team-a", "llama", 6), held("team-b", "other", 6)},
				Objects:  map[schema.GroupVersionKind][]client.Object{b.StateKinds()[0]: {tc.quota}},
			})
			got := strings.TrimSpace(e.Reason + " " + e.Object + " " + e.Message)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("%s:\n got %q\nwant %q", tc.why, got, tc.want)
			}
			changed := quota("team-a", "5")
			if !b.Matters(nil, tc.quota) || !b.Matters(tc.quota, nil) || b.Matters(changed,
				changed.DeepCopyObject().(client.Object)) || !b.Matters(quota("team-a", "6"), changed) {
				t.Error("want only a changed spec to matter")
			}
		})
	}
}
