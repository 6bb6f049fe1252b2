package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// A group is written with the gang's name and number of ranks, in whichever field its kind counts them.
func TestGroupOfTemplate(t *testing.T) {
	group := func(spec map[string]any) map[string]any {
		return map[string]any{"kind": "Group", "metadata": map[string]any{"name": "captured-gang-1"}, "spec": spec}
	}
	cases := map[string]struct{ captured, want map[string]any }{
		"volcano": {
			map[string]any{
				"minMember": int64(2), "minResources": map[string]any{"cpu": "3", "nvidia.com/gpu": "2"},
				"minTaskMember": map[string]any{"Worker": int64(2)},
			},
			map[string]any{
				"minMember": int64(8), "minResources": map[string]any{"cpu": "12", "nvidia.com/gpu": "8"},
				"minTaskMember": map[string]any{"Worker": int64(8)},
			},
		},
		"native": {
			map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(2)}}},
			map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(8)}}},
		},
		"kueue": {
			map[string]any{"podSets": []any{map[string]any{"name": "worker", "count": int64(2)}}},
			map[string]any{"podSets": []any{map[string]any{"name": "worker", "count": int64(8)}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			of := template{groups: []unstructured.Unstructured{{Object: group(c.captured)}}}
			got, err := of.group(0, workload.Gang{Name: "bert", Ranks: 8})
			if err != nil {
				t.Fatal(err)
			}
			want := group(c.want)
			want["metadata"] = map[string]any{"name": "bert-1"}
			if diff := cmp.Diff(want, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodOfTemplate(t *testing.T) {
	pod := func(gang, rank string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:        gang + "-worker-" + rank,
				Labels:      map[string]string{labelJob: gang, v1alpha1.LabelKubeflowReplicaIndex: rank, "restarts": "1"},
				Annotations: map[string]string{"scheduling.k8s.io/group-name": gang},
			},
			Spec: corev1.PodSpec{
				Hostname: gang + "-worker-" + rank, Subdomain: gang,
				Containers: []corev1.Container{{Env: []corev1.EnvVar{
					{Name: "RANK", Value: rank}, {Name: "MASTER_ADDR", Value: gang + "-worker-0." + gang},
				}}},
			},
		}
	}
	of := template{pod: pod(capturedGang, "1")}
	for rank, want := range map[int]corev1.Pod{0: pod("bert", "0"), 1: pod("bert", "1"), 12: pod("bert", "12")} {
		got, err := of.podOf(rank, workload.Gang{Name: "bert", Ranks: 13})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("rank %d (-want +got):\n%s", rank, diff)
		}
	}
}

// A group is written without an owner, and without what would make it look as if it had lost one.
func TestStrippedGroup(t *testing.T) {
	got := strippedGroup(unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
		"metadata": map[string]any{
			"name": capturedGang, "uid": "7", "ownerReferences": []any{map[string]any{"uid": "8"}},
			"labels": map[string]any{labelJob: capturedGang, labelJobUID: "8"},
		},
		"spec": map[string]any{"priority": int64(1)}, "status": map[string]any{"conditions": []any{}},
	}})
	want := map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
		"metadata": map[string]any{"name": capturedGang, "labels": map[string]any{labelJob: capturedGang}},
		"spec":     map[string]any{"priority": int64(1)},
	}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
