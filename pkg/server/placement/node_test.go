package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestNodes: nodeOf gives the same for a node and its trimmed copy.
func TestNodes(t *testing.T) {
	const zone = corev1.LabelTopologyZone
	for name, of := range map[string]struct {
		change func(*corev1.Node)
		want   Node
	}{
		"plain": {func(*corev1.Node) {}, Node{Kind: "H100", Capacity: 8, Allocatable: 8, Ready: true}},
		"in a zone": {
			func(n *corev1.Node) { n.Labels[zone] = "z1" },
			Node{Kind: "H100", DomainKey: zone, Domain: "z1", Capacity: 8, Allocatable: 8, Ready: true},
		},
		"in a rack, whose label comes first": {
			func(n *corev1.Node) { n.Labels[zone], n.Labels[rack] = "z1", "r7" },
			Node{Kind: "H100", DomainKey: rack, Domain: "r7", Capacity: 8, Allocatable: 8, Ready: true},
		},
		"without a product": {
			func(n *corev1.Node) { n.Labels = nil }, Node{Kind: gpu, Capacity: 8, Allocatable: 8, Ready: true},
		},
		"with most of one resource": {
			func(n *corev1.Node) {
				n.Labels = nil
				n.Status.Capacity["nvidia.com/mig-1g.10gb"] = resource.MustParse("14")
				n.Status.Capacity["amd.com/gpu"] = resource.MustParse("14")
				n.Status.Capacity["example.com/other"] = resource.MustParse("99")
			}, Node{Kind: "amd.com/gpu", Capacity: 36, Allocatable: 8, Ready: true},
		},
		"with a broken GPU": {
			func(n *corev1.Node) { n.Status.Allocatable = list(7) },
			Node{Kind: "H100", Capacity: 8, Allocatable: 7, Ready: true},
		},
		"cordoned": {
			func(n *corev1.Node) { n.Spec.Unschedulable = true },
			Node{Kind: "H100", Capacity: 8, Allocatable: 8, Ready: true, Cordoned: true},
		},
		"unknown readiness": {
			func(n *corev1.Node) { n.Status.Conditions[1].Status = corev1.ConditionUnknown },
			Node{Kind: "H100", Capacity: 8, Allocatable: 8},
		},
		"new": {
			func(n *corev1.Node) { n.Status.Conditions = nil }, Node{Kind: "H100", Capacity: 8, Allocatable: 8},
		},
		"without GPUs": {
			func(n *corev1.Node) {
				n.Labels, n.Status.Capacity, n.Status.Allocatable = nil, list(0), list(0)
			}, Node{Ready: true},
		},
	} {
		of.want.Name = "a"
		n := newNode("a", of.change)
		trimmed, err := trimNode(n.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		for what, n := range map[string]*corev1.Node{"whole": n, "trimmed": trimmed.(*corev1.Node)} {
			if diff := cmp.Diff(of.want, counting().nodeOf(n)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, what, diff)
			}
		}
	}
}
