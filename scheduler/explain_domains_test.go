package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const rack = "example.com/rack"

func inRack(value string) func(*scheduler.Node) {
	return func(n *scheduler.Node) { n.Labels[rack] = value }
}

// within requires one rack.
func within(g scheduler.Gang) scheduler.Gang {
	g.Within = rack
	return g
}

// racks returns a cluster with a rack for each list, which has the GPUs in use on each of its nodes.
func racks(used ...[]int64) scheduler.ClusterState {
	var nodes []scheduler.Node
	for i, rack := range used {
		for j, n := range rack {
			nodes = append(nodes, node(fmt.Sprintf("node-%d-%d", i, j), n, inRack(fmt.Sprintf("rack-%d", i))))
		}
	}
	return clusterOf(nodes...)
}

// heldBy adds a holder of GPUs on a node.
func heldBy(s scheduler.ClusterState, name string, n int64, on string) scheduler.ClusterState {
	s.Holders = append(s.Holders, scheduler.Holder{
		Kind: "TrainingJob", Namespace: "team-a", Name: name, Pods: 1,
		Held: scheduler.Amounts{gpu: n}, On: map[string]scheduler.Amounts{on: {gpu: n}},
	})
	return s
}

// leaderAndWorkers has a leader with 8 GPUs, and n workers with the given GPUs each.
func leaderAndWorkers(n int32, each string) scheduler.Gang {
	g, leader := gang(n, each), gang(1, "8")
	leader.Roles[0].Name = "master"
	g.Roles = append(leader.Roles, g.Roles...)
	g.MinAvailable++
	return g
}

// inDomain is the explanation of a gang that fits into no domain now.
func inDomain(message string, need, free int64) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonInsufficientResources, Message: message, Need: gpus(need), Free: gpus(free),
		NextStep: "wait until others end there, request less, or set mode Pack in " +
			"spec.runPolicy.schedulingPolicy.topology",
	}
}

// neverInDomain is the explanation of a gang that fits into no domain, however empty.
func neverInDomain(message string, need, free int64) scheduler.Explanation {
	return scheduler.Explanation{
		Reason: scheduler.ReasonExceedsDomain, Message: message, Need: gpus(need), Free: gpus(free),
		NextStep: "request less, add nodes to a domain, or set mode Pack in " +
			"spec.runPolicy.schedulingPolicy.topology",
	}
}

func TestExplainDomains(t *testing.T) {
	oneFreeNodeInEach := func() scheduler.ClusterState {
		return racks([]int64{0, 8, 8, 8}, []int64{8, 0, 8, 8}, []int64{8, 8, 0, 8}, []int64{8, 8, 8, 0})
	}
	testExplain(t, map[string]explainCase{
		"a free node in each rack": {
			reason: "they are enough together, and not in one rack", gang: within(gang(4, "8")),
			verdict: unschedulable, cluster: oneFreeNodeInEach,
			want: inDomain("needs 32 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 8 free "+
				"of 32; 32 are free in all 4 domains", 32, 8),
		},
		"a free node in each rack, without the requirement": {
			reason: "a hint leaves it to the scheduler", gang: gang(4, "8"), cluster: oneFreeNodeInEach,
		},
		"the best rack and who holds it": {
			reason: "the rack with the most free, and only its holders", gang: within(gang(4, "8")),
			verdict: unschedulable, cluster: func() scheduler.ClusterState {
				s := racks([]int64{8, 8, 8, 0}, []int64{0, 8, 0, 0})
				return heldBy(heldBy(s, "llama", 8, "node-1-1"), "other", 8, "node-0-0")
			},
			want: inDomain("needs 32 nvidia.com/gpu in one example.com/rack; the best, rack-1, has 24 free "+
				"of 32; held by team-a/llama (8); 32 are free in all 2 domains", 32, 24),
		},
		"enough free GPUs in parts": {
			reason: "a rank needs a node", gang: within(gang(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{4, 4, 4, 4}) },
			want: inDomain("needs 16 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 16 free "+
				"of 32: capacity for 0 of 2 ranks", 16, 16),
		},
		"a rack that is too small and empty": {
			reason: "nothing that ends there helps", gang: within(gang(3, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0, 0}, []int64{8, 8, 8}) },
			want: inDomain("needs 24 nvidia.com/gpu in one example.com/rack; the best, rack-1, has 0 free "+
				"of 24; 16 are free in all 2 domains", 24, 0),
		},
		"one rack has enough": {
			reason: "the scheduler can place it", gang: within(gang(4, "8")),
			cluster: func() scheduler.ClusterState { return racks([]int64{8, 8, 8, 8}, []int64{0, 0, 0, 0}) },
		},
		"others wait before it": {
			reason: "as without a domain", gang: within(gang(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				s := racks([]int64{0, 8}, []int64{8, 0})
				s.Ahead = scheduler.Ahead{Count: 2, First: waiter("team-b", "first", 5, 0)}
				return s
			},
			want: inDomain("needs 16 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 8 free "+
				"of 16; 16 are "+
				"free in all 2 domains; 2 jobs wait before it", 16, 8),
		},
		"a state with invisible pods": {
			reason: "what is free is an upper bound", gang: within(gang(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				s := racks([]int64{0, 8}, []int64{8, 0})
				s.Partial = true
				return s
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources, Need: gpus(16),
				Message: "needs 16 nvidia.com/gpu in one example.com/rack; the best, rack-0, has at most 8 " +
					"free of 16; at most 16 are free in all 2 domains",
				NextStep: "wait until others end there, request less, or set mode Pack in " +
					"spec.runPolicy.schedulingPolicy.topology",
			},
		},
		"larger than any rack": {
			reason: "the cluster has enough, and no rack", gang: within(gang(5, "8")), verdict: unschedulable,
			cluster: oneFreeNodeInEach,
			want: neverInDomain("it can never start: no example.com/rack has 40 nvidia.com/gpu; the "+
				"largest, rack-0, "+
				"has 32 when empty (4 domains)", 40, 8),
		},
		"nodes without the label": {
			reason: "they are in no rack", gang: within(gang(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				s := racks([]int64{0}, []int64{8})
				s.Nodes = append(s.Nodes, node("x", 0), node("y", 0))
				return s
			},
			want: neverInDomain("it can never start: no example.com/rack has 16 nvidia.com/gpu; the "+
				"largest, rack-0, "+
				"has 8 when empty (2 domains, 2 nodes without the label)", 16, 8),
		},
		"enough GPUs in nodes that are too small": {
			reason: "each node has place for one rank", gang: within(gang(3, "5")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0, 0}, []int64{0}) },
			want: neverInDomain("it can never start: no example.com/rack has nodes for 3 ranks at once; "+
				"the best, rack-0, would hold 2 of them if it were empty (2 domains)", 15, 16),
		},
		"no node with the label": {
			reason: "the key is wrong, or the nodes are not labelled",
			gang:   within(gang(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0), node("b", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsDomain,
				Message: "it can never start: none of 2 nodes that it may run on has the label " +
					"example.com/rack",
				NextStep: "label the nodes with their domains, or correct the key in " +
					"spec.runPolicy.schedulingPolicy.topology",
			},
		},
		"a leader and workers in one rack": {
			reason: "all roles lie in the domain",
			gang:   within(leaderAndWorkers(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0, 0}, []int64{8, 0, 0}) },
			want: inDomain("needs 24 nvidia.com/gpu in one example.com/rack; the best, rack-1, has 16 free "+
				"of 24; 32 are free in all 2 domains", 24, 16),
		},
		"a leader and workers that exceed every rack": {
			reason: "their sum alone is too large",
			gang:   within(leaderAndWorkers(2, "8")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0, 0}, []int64{0, 0}) },
			want: neverInDomain("it can never start: no example.com/rack has 24 nvidia.com/gpu; the "+
				"largest, rack-0, "+
				"has 16 when empty (2 domains)", 24, 16),
		},
		"a scheduler that names no domain": {
			reason: "our numbers say more than Kueue's",
			gang:   within(gang(4, "8")), cluster: oneFreeNodeInEach,
			verdict: scheduler.Verdict{
				Admission: scheduler.Hold, Judged: true, Reason: scheduler.ReasonInsufficientResources,
				Message: `topology "racks" allows to fit only 1 out of 4 pod(s)`,
			},
			want: inDomain("needs 32 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 8 free "+
				"of 32; 32 are free in all 4 domains", 32, 8),
		},
		"a flavor that tolerates the nodes' taint": {
			reason: "its toleration is added at the admission", gang: within(gang(2, "8")),
			cluster: func() scheduler.ClusterState {
				return clusterOf(node("a", 0, inRack("rack-0"), taint), node("b", 8, inRack("rack-0"), taint))
			},
			verdict: scheduler.Verdict{Admission: scheduler.Hold, Reason: scheduler.ReasonInsufficientResources},
			want: inDomain("needs 16 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 8 free of 16",
				16, 8),
		},
		"the scheduler does not find the rack that is free": {
			reason: "its own message, as its view", gang: within(gang(4, "2")), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0}) }, want: quoted,
		},
		"rests, and no rack has enough": {
			reason: "the operator wakes no scheduler without need", gang: within(gang(2, "8")),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return racks([]int64{0, 8}, []int64{8, 0}) },
			want: inDomain("needs 16 nvidia.com/gpu in one example.com/rack; the best, rack-0, has 8 free "+
				"of 16; 16 are "+
				"free in all 2 domains", 16, 8),
		},
	})
}

// TestUnplaceableWithin: a gang that exceeds every domain gets no pods. It requires certainty.
func TestUnplaceableWithin(t *testing.T) {
	exceeds := func(n, has int, of string) string {
		return fmt.Sprintf("ExceedsDomain: it can never start: no example.com/rack has %d nvidia.com/gpu; "+
			"the largest, rack-0, has %d when empty (%s)", n, has, of)
	}
	for name, tc := range map[string]struct {
		reason  string
		gang    scheduler.Gang
		cluster scheduler.ClusterState
		want    string // reason and message; "": uncertain
	}{
		"full racks": {
			reason: "others will end", gang: within(gang(2, "8")), cluster: racks([]int64{8, 8}),
		},
		"larger than any rack": {
			reason: "nothing that ends helps",
			gang:   within(gang(3, "8")), cluster: racks([]int64{8, 8}, []int64{8, 8}),
			want: exceeds(24, 16, "2 domains"),
		},
		"without the requirement": {
			reason: "the cluster has enough",
			gang:   gang(3, "8"), cluster: racks([]int64{8, 8}, []int64{8, 8}),
		},
		"a rack with a cordoned node": {
			reason: "the state passes", gang: within(gang(2, "8")),
			cluster: clusterOf(node("a", 0, inRack("rack-0")), node("b", 0, inRack("rack-0"), cordon)),
		},
		"a rack with a node of another team": {
			reason: "an admin reserved it", gang: within(gang(2, "8")),
			cluster: clusterOf(node("a", 0, inRack("rack-0")), node("b", 0, inRack("rack-0"), taint)),
			want:    exceeds(16, 8, "1 domain"),
		},
		"a leader and workers that might fit": {
			reason: "the order of placement is the scheduler's", gang: within(leaderAndWorkers(4, "4")),
			cluster: racks([]int64{0, 0, 0}),
		},
		"a leader and workers that do not": {
			reason: "their sum exceeds every rack", gang: within(leaderAndWorkers(2, "8")),
			cluster: racks([]int64{0, 0}), want: exceeds(24, 16, "1 domain"),
		},
		"a resource of no node": {
			reason: "a DeviceClass may serve it", cluster: racks([]int64{0}),
			gang: within(gang(2, "8", requesting("example.com/npu", "1"))),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, never := scheduler.Unplaceable(tc.gang, scheduler.Verdict{}, tc.cluster)
			got := ""
			if never {
				got = e.Reason + ": " + e.Message
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDomains: victims are searched where the gang could fit, first where most is free.
func TestDomains(t *testing.T) {
	names := func(g scheduler.Gang, s scheduler.ClusterState) (names []string) {
		for _, d := range s.Domains(g) {
			names = append(names, fmt.Sprint(d.Name, d.Nodes))
		}
		return names
	}
	s := racks([]int64{8, 8}, []int64{0}, []int64{8, 0})
	want := []string{"rack-2[node-2-0 node-2-1]", "rack-0[node-0-0 node-0-1]"}
	if diff := cmp.Diff(want, names(within(gang(2, "8")), s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Domains(gang(2, "8")); got != nil {
		t.Errorf("without the requirement: %v", got)
	}
	if got := s.Domains(within(gang(3, "8"))); got == nil || len(got) > 0 {
		t.Errorf("larger than any rack: %#v, want an empty list", got)
	}
	var many [][]int64
	for range 40 {
		many = append(many, []int64{0})
	}
	if got := names(within(gang(1, "8")), racks(many...)); len(got) != 32 {
		t.Errorf("%d domains, want 32", len(got))
	}
}

// BenchmarkExplainDomains: 64 domains of 16 nodes, each of which has a free node.
func BenchmarkExplainDomains(b *testing.B) {
	var used [][]int64
	for range 64 {
		used = append(used, []int64{0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8})
	}
	s, g := racks(used...), within(gang(4, "8"))
	for b.Loop() {
		s.Shared = &scheduler.Shared{}
		if e, _ := scheduler.Explain(plainBackend{}, g, nil, unschedulable, s); e.Free[gpu] != gpus(8)[gpu] {
			b.Fatal(e)
		}
	}
}
