package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// tainted puts a taint on a node as its admin or a control plane would.
func tainted(key string) func(*scheduler.Node) {
	return func(n *scheduler.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func requesting(name corev1.ResourceName, amount string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests[name] = resource.MustParse(amount)
	}
}

// TestUnplaceable: this explanation keeps a gang's pods from being created, so it requires certainty.
func TestUnplaceable(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		gang    scheduler.Gang
		verdict scheduler.Verdict
		cluster scheduler.ClusterState
		want    string // reason and message; "": uncertain
	}{
		"full nodes": {
			reason: "others will end", gang: gang(4, "8"), cluster: clusterOf(node("a", 8)),
		},
		"larger than any node": {
			reason: "no GPU that becomes free helps", gang: gang(1, "9"),
			cluster: clusterOf(node("a", 0), node("b", 8)),
			want: "NoNodeLargeEnough: it can never start: a rank of role worker requests 9 nvidia.com/gpu and " +
				"the largest of 2 nodes that it may run on has 8",
		},
		"larger than the nodes of its zone": {
			reason: "the other zone does not count", gang: gang(1, "8", zone("b")),
			cluster: clusterOf(node("a", 0), node("b", 0, inZone("b"), func(n *scheduler.Node) {
				n.Allocatable[gpu] = 4
			})),
			want: "NoNodeLargeEnough: it can never start: a rank of role worker requests 8 nvidia.com/gpu and " +
				"the largest of 1 node that it may run on has 4",
		},
		"a selector that matches nothing": {
			reason: "an admin must label a node", gang: gang(1, "1", zone("moon")),
			cluster: clusterOf(node("a", 0)),
			want:    "NoNodeMatches: node selector zone=moon of role worker matches none of 1 node",
		},
		"a taint on every node": {
			reason: "an admin reserved them", gang: gang(1, "1"), cluster: clusterOf(node("a", 0, taint)),
			want: "NoNodeMatches: none of the 1 node that role worker may run on takes it: " +
				"taint team=b:NoSchedule",
		},
		"a placement that fits nowhere": {
			reason: "the scheduler's own selector counts", gang: gang(1, "1"),
			verdict: placedOn(scheduler.Placement{NodeSelector: map[string]string{"zone": "b"}}),
			cluster: clusterOf(node("a", 0)),
			want:    "NoNodeMatches: node selector zone=b of role worker matches none of 1 node",
		},
		"cordoned": {
			reason: "it may be uncordoned", gang: gang(1, "8"), cluster: clusterOf(node("a", 0, cordon)),
		},
		"not ready": {
			reason: "it may come back", gang: gang(1, "8"),
			cluster: clusterOf(node("a", 0, notReady, tainted("node.kubernetes.io/unreachable"))),
		},
		"a node that the autoscaler removes": {
			reason: "it may change its mind", gang: gang(1, "8"),
			cluster: clusterOf(node("a", 0, tainted("ToBeDeletedByClusterAutoscaler"))),
		},
		"cordoned and too small": {
			reason: "uncordoned, it is still too small", gang: gang(1, "9"),
			cluster: clusterOf(node("a", 0, cordon)),
			want: "NoNodeLargeEnough: it can never start: a rank of role worker requests 9 nvidia.com/gpu and " +
				"the largest of 1 node that it may run on has 8",
		},
		"a taint with the name of the resource": {
			reason: "admission adds the toleration (ExtendedResourceToleration)", gang: gang(1, "1"),
			cluster: clusterOf(node("a", 0, tainted("nvidia.com/gpu"))),
		},
		"a RuntimeClass": {
			reason: "it may add tolerations", cluster: clusterOf(node("a", 0, taint)),
			gang: gang(1, "1", func(s *corev1.PodSpec) { s.RuntimeClassName = new("nvidia") }),
		},
		"a resource that no node has": {
			reason:  "a scheduler may know it from an extender or a DeviceClass",
			gang:    gang(1, "1", requesting("example.com/dongle", "1")),
			cluster: clusterOf(node("a", 0)),
		},
		"no nodes": {
			reason: "nothing is known", gang: gang(1, "1"), cluster: clusterOf(),
		},
		"a cluster state that is not complete": {
			reason: "nodes may be missing", gang: gang(1, "9"),
			cluster: scheduler.ClusterState{Nodes: []scheduler.Node{node("a", 0)}},
		},
		"the large rank runs": {
			reason: "what is bound is placed", gang: gang(1, "9"),
			cluster: func() scheduler.ClusterState {
				s := clusterOf(node("a", 0))
				s.Bound = map[string]int32{"worker": 1}
				return s
			}(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, unplaceable := scheduler.Unplaceable(tc.gang, tc.verdict, tc.cluster)
			got := ""
			if unplaceable {
				got = e.Reason + ": " + e.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
