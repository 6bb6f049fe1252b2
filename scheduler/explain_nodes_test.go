package scheduler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestExplainNodes(t *testing.T) {
	testExplain(t, map[string]explainCase{
		"placed on a flavour": {
			reason: "its selector and its tolerations are the gang's", gang: gang(4, "2"),
			verdict: placedOn(scheduler.Placement{
				NodeSelector: map[string]string{"zone": "a"},
				Tolerations:  []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
			}),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 0, taint), node("b", 8, inZone("b")))
			},
		},
		"placed on a flavour whose nodes are full": {
			reason: "other nodes are not for it", gang: gang(4, "2"),
			verdict: placedOn(scheduler.Placement{NodeSelector: map[string]string{"zone": "a"}}),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 8), node("b", 0, inZone("b")))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources, Need: gpus(8), Free: gpus(0),
				Message: "needs 8 nvidia.com/gpu, 0 free on 1 node that may run it; the largest free " +
					"node has 0 and a rank needs 2",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
			},
		},
		"no nodes": {
			reason: "an empty cluster", gang: gang(1, "1"),
			cluster: func() scheduler.ClusterState { return clusterOf() },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeMatches, Message: "the cluster has no nodes",
				NextStep: "add nodes",
			},
		},
		"selector": {
			reason: "the label's value is wrong", gang: gang(1, "1", zone("b")),
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0), node("b", 0)) },
			want: scheduler.Explanation{
				Reason:  scheduler.ReasonNoNodeMatches,
				Message: "node selector zone=b of role worker matches none of 2 nodes",
				NextStep: "correct it (kubectl get nodes --show-labels lists what the nodes have), or " +
					"label nodes so that it matches",
			},
		},
		"taint, cordon, not ready": {
			reason: "nodes match and accept no pods", gang: gang(1, "1", zone("a")),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 0, taint), node("b", 0, cordon), node("c", 0, notReady))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeMatches,
				Message: "none of the 3 nodes that role worker may run on takes it: cordoned, not " +
					"ready, taint team=b:NoSchedule",
				NextStep: "add tolerations for the taints to the job, or uncordon or repair the nodes",
			},
		},
		"a rank larger than any node": {
			reason: "never", gang: gang(1, "16"),
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 3), node("b", 8)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeLargeEnough,
				Message: "it can never start: a rank of role worker requests 16 nvidia.com/gpu and the " +
					"largest of 2 nodes that it may run on has 8",
				NextStep: "request at most 8 nvidia.com/gpu per rank, in more ranks, or add larger nodes",
				Need:     gpus(16), Free: gpus(5),
			},
		},
		"no such resource": {
			reason: "a device plugin does not run", gang: gang(1, "1"),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 0, func(n *scheduler.Node) { delete(n.Allocatable, gpu) }))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeLargeEnough,
				Message: "it can never start: a rank of role worker requests 1 nvidia.com/gpu and the " +
					"largest of 1 node that it may run on has 0",
				NextStep: "add nodes that have nvidia.com/gpu, or see that its device plugin runs on them",
				Need:     gpus(1), Free: gpus(0),
			},
		},
		"a rank that asks for the best of two nodes": {
			reason: "one has the GPUs, the other the CPUs", gang: gang(1, "8"),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 0, cpus(100)), node("b", 0, func(n *scheduler.Node) {
					n.Allocatable[gpu] = 4
				}))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeLargeEnough,
				Message: "it can never start: no node has all that a rank of role worker requests at " +
					"once (500m cpu, 8 nvidia.com/gpu)",
				NextStep: "request less per rank, or add larger nodes",
				Need:     gpus(8), Free: gpus(8),
			},
		},
		"larger than the cluster": {
			reason: "never, by one resource", gang: gang(6, "4"),
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 4), node("b", 8)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsCluster,
				Message: "it can never start: 6 ranks need together 24 nvidia.com/gpu, and 2 nodes that " +
					"may run them would hold 4 of them " +
					"if they were empty (16 nvidia.com/gpu in all)",
				NextStep: "request fewer ranks or a smaller minAvailable, or add nodes",
				Need:     gpus(24), Free: gpus(4),
			},
		},
		"too little free": {
			reason: "too little is free: needs 16, 12 free, largest free node 8", gang: gang(4, "4"),
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 0), node("b", 4))
				f.Holders = []scheduler.Holder{
					{
						Kind: "TrainingJob", Namespace: "team-b", Name: "llama", Pods: 1,
						Held: scheduler.Amounts{gpu: 12},
						On:   map[string]scheduler.Amounts{"b": {gpu: 4}, "elsewhere": {gpu: 8}},
					},
					{
						Kind: "TrainingJob", Namespace: "team-c", Name: "elsewhere", Pods: 1,
						Held: scheduler.Amounts{gpu: 8},
						On:   map[string]scheduler.Amounts{"elsewhere": {gpu: 8}},
					},
					{
						Kind: "TrainingJob", Namespace: "team-a", Name: "bert", Pods: 1,
						Held: scheduler.Amounts{gpu: 9}, On: map[string]scheduler.Amounts{"b": {gpu: 9}},
					},
				}
				f.Ahead = scheduler.Ahead{Count: 1, First: waiter("team-b", "earlier", 0, 9)}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 16 nvidia.com/gpu, 12 free on 2 nodes that may run it; the largest free " +
					"node has 8 and a rank needs 4; " +
					"held by team-b/llama (4); 1 job waits before it",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(16), Free: gpus(12),
			},
		},
		"free in pieces": {
			reason: "enough in sum, not in one place", gang: gang(2, "4"),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 5), node("b", 5), node("c", 5))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, 9 free on 3 nodes that may run it; the largest free " +
					"node has 3 and a rank needs 4: " +
					"capacity for 0 of 2 ranks",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(9),
			},
		},
		"nodes that do not count": {
			reason: "what is free on nodes that it may not run on is not free for it",
			gang:   gang(2, "8", zone("a")),
			cluster: func() scheduler.ClusterState {
				elsewhere := func(n *scheduler.Node) { n.Labels = map[string]string{"zone": "b"} }
				return clusterOf(node("a", 0), node("b", 8), node("c", 0, elsewhere), node("d", 0, taint),
					node("e", 0, cordon))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 16 nvidia.com/gpu, 8 free on 2 nodes that may run it; the largest free " +
					"node has 8 and a rank needs 8",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(16), Free: gpus(8),
			},
		},
		"ranks that hold a node already": {
			reason: "what they request is part of what is used", gang: gang(4, "4"),
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 8), node("b", 4))
				f.Bound = map[string]int32{"worker": 2}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, 4 free on 2 nodes that may run it; the largest free " +
					"node has 4 and a rank needs 4",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(4),
			},
		},
	})
}

func TestSeveralRoles(t *testing.T) {
	g := gang(1, "8")
	ps := gang(2, "1").Roles[0]
	ps.Name = "ps"
	g.Roles = append([]scheduler.Role{ps}, g.Roles...)
	cases := map[string]struct {
		reason string
		nodes  []scheduler.Node
		want   string
	}{
		"the large rank chooses first": {
			"the small ones would take its node", []scheduler.Node{node("a", 0), node("b", 6)}, "",
		},
		"not all have capacity": {
			"one node for the worker, one GPU for two servers", []scheduler.Node{node("a", 0), node("b", 7)},
			scheduler.ReasonInsufficientResources,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if e, _ := scheduler.Explain(plainBackend{}, g, nil, scheduler.Verdict{},
				clusterOf(tc.nodes...)); e.Reason != tc.want {
				t.Errorf("%s: got %+v, want reason %q", tc.reason, e, tc.want)
			}
		})
	}
}
