package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestExcludedNodes: an exclusion is added to every way in which the user lets a pod be placed, and is in no
// template that a scheduler compares.
func TestExcludedNodes(t *testing.T) {
	term := func(zone string, off ...string) corev1.NodeSelectorTerm {
		var n corev1.NodeSelectorTerm
		if zone != "" {
			n.MatchExpressions = []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
			}
		}
		for _, name := range off {
			n.MatchFields = append(n.MatchFields, corev1.NodeSelectorRequirement{
				Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name},
			})
		}
		return n
	}
	for name, c := range map[string]struct {
		given, want []corev1.NodeSelectorTerm
	}{
		"no affinity": {nil, []corev1.NodeSelectorTerm{term("", "a", "b")}},
		"two zones": {
			[]corev1.NodeSelectorTerm{term("x"), term("y")},
			[]corev1.NodeSelectorTerm{term("x", "a", "b"), term("y", "a", "b")},
		},
		"a term that matches nothing": {
			[]corev1.NodeSelectorTerm{term(""), term("y")},
			[]corev1.NodeSelectorTerm{term(""), term("y", "a", "b")},
		},
	} {
		job := jobtest.New(1)
		if c.given != nil {
			job.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: c.given},
			}}
		}
		before := Gang(job, 1, false)
		job.Status.Disruptions = &v1alpha1.DisruptionStatus{
			ExcludedNodes: []v1alpha1.ExcludedNode{{Name: "a"}, {Name: "b"}},
		}
		pod, err := Pod(job, spec.RankRef{Role: v1alpha1.RoleWorker}, 1, nil, Agent{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, Gang(job, 1, false)); diff != "" {
			t.Errorf("%s: the gang has changed (-want +got):\n%s", name, diff)
		}
	}
}
