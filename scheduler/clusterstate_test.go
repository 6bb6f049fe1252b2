package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestClusterStateQueries(t *testing.T) {
	f := clusterOf(node("a", 3), node("b", 8), node("c", 9), node("d", 0, taint))
	tolerant := &corev1.PodSpec{
		Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
	}
	affine := func(op corev1.NodeSelectorOperator, key string, values ...string) *corev1.PodSpec {
		terms := []corev1.NodeSelectorTerm{
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}},
		}
		return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}}
	}
	cases := map[string]struct{ want, got any }{
		"of all nodes":            {int64(4 * 96000), f.Allocatable(corev1.ResourceCPU)},
		"free is never below 0":   {int64(0), f.Nodes[2].Free(gpu)},
		"open without toleration": {3, len(scheduler.AcceptingNodes(f.Nodes, &corev1.PodSpec{}))},
		"open with it":            {4, len(scheduler.AcceptingNodes(f.Nodes, tolerant))},
		"selected by field": {
			1, len(f.MatchingNodes(affine(corev1.NodeSelectorOpIn, "metadata.name", "b"))),
		},
		"an affinity that cannot be read": {
			0, len(f.MatchingNodes(affine("Nonsense", "metadata.name", "b"))),
		},
		"amounts of CPU are in thousandths": {
			scheduler.Amounts{corev1.ResourceCPU: 1500, gpu: 2},
			scheduler.AmountsOf(
				corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1500m"), gpu: resource.MustParse("2"),
				},
			),
		},
		"and go back": {"1500m", quantityText(scheduler.Quantity(corev1.ResourceCPU, 1500))},
		"memory":      {"4Gi", quantityText(scheduler.Quantity(corev1.ResourceMemory, 4<<30))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func quantityText(q resource.Quantity) string { return q.String() }
