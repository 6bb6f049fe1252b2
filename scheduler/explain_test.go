package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

// mute is a dialect without reasons of its own.
type mute struct{ scheduler.Backend }

func (mute) Name() string { return "mute" }

// outspoken has one.
type outspoken struct{ mute }

func (outspoken) StateKinds() []schema.GroupVersionKind     { return nil }
func (outspoken) Matters(client.Object, client.Object) bool { return true }
func (outspoken) Explain(scheduler.Gang, []client.Object, scheduler.ClusterState) (scheduler.Explanation, bool) {
	return scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed"}, true
}

// gang of n ranks with gpus each, changed by edit.
func gang(n int32, gpus string, edit ...func(*corev1.PodSpec)) scheduler.Gang {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{gpu: resource.MustParse(gpus), corev1.ResourceCPU: resource.MustParse("500m")},
	}}}}
	for _, e := range edit {
		e(&spec)
	}
	return scheduler.Gang{
		Name: "bert", Namespace: "team-a", MinAvailable: n,
		Roles: []scheduler.Role{{Name: "worker", Replicas: n, MinAvailable: n, Template: &corev1.PodTemplateSpec{Spec: spec}}},
	}
}

// node with 8 GPUs of which so many are used, changed by edit.
func node(name string, used int64, edit ...func(*scheduler.Node)) scheduler.Node {
	n := scheduler.Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		},
		Allocatable: scheduler.Amounts{gpu: 8, corev1.ResourceCPU: 96000, corev1.ResourcePods: 110},
		Requested:   scheduler.Amounts{gpu: used, corev1.ResourceCPU: 500 * used, corev1.ResourcePods: used},
	}
	for _, e := range edit {
		e(&n)
	}
	return n
}

func taint(n *scheduler.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "team", Value: "b", Effect: corev1.TaintEffectNoSchedule})
}

func cordon(n *scheduler.Node) { n.Spec.Unschedulable = true }

func inZone(value string) func(*scheduler.Node) {
	return func(n *scheduler.Node) { n.Labels["zone"] = value }
}

func broken(n *scheduler.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func cpus(millis int64) func(*scheduler.Node) {
	return func(n *scheduler.Node) { n.Allocatable[corev1.ResourceCPU] = millis }
}

func zone(value string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": value} }
}

func facts(nodes ...scheduler.Node) scheduler.ClusterState {
	return scheduler.ClusterState{Complete: true, Nodes: nodes, Self: waiter("team-a", "bert", 0, 10)}
}

func waiter(namespace, name string, priority int32, second int) scheduler.Waiter {
	return scheduler.Waiter{
		Namespace: namespace, Name: name, Scheduler: "mute", Queue: "research", Priority: priority,
		Since: metav1.NewTime(time.Date(2026, 11, 21, 12, 0, second, 0, time.UTC)),
	}
}

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{gpu: *resource.NewQuantity(n, resource.DecimalSI)}
}

func TestExplain(t *testing.T) {
	unschedulable := scheduler.Verdict{
		Admission: scheduler.Go, Judged: true, Reason: scheduler.ReasonUnschedulable, Message: "no room", NextStep: "look",
	}
	own := scheduler.Explanation{Reason: scheduler.ReasonUnschedulable, Message: "no room", NextStep: "look"}
	cases := map[string]struct {
		why     string
		backend scheduler.Backend
		gang    scheduler.Gang
		verdict scheduler.Verdict
		facts   func() scheduler.ClusterState
		want    scheduler.Explanation
	}{
		"nothing": {
			why: "there is room and the scheduler has not spoken", gang: gang(4, "2"),
			facts: func() scheduler.ClusterState { return facts(node("a", 0)) },
		},
		"own sentence": {
			why: "there is room by our count, and the scheduler does not agree", gang: gang(4, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState { return facts(node("a", 0)) }, want: own,
		},
		"facts that are not complete": {
			why: "absence proves nothing before the caches are whole", gang: gang(4, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState { return scheduler.ClusterState{} }, want: own,
		},
		"placed on a flavour": {
			why: "its selector and its tolerations are the gang's", gang: gang(4, "2"),
			verdict: scheduler.Verdict{Admission: scheduler.Go, Judged: true, Placement: map[string]scheduler.Placement{"worker": {
				NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}},
			}}},
			facts: func() scheduler.ClusterState { return facts(node("a", 0, taint), node("b", 8, inZone("b"))) },
		},
		"placed on a flavour whose nodes are full": {
			why: "other nodes are not for it", gang: gang(4, "2"),
			verdict: scheduler.Verdict{Admission: scheduler.Go, Judged: true, Placement: map[string]scheduler.Placement{"worker": {
				NodeSelector: map[string]string{"zone": "a"},
			}}},
			facts: func() scheduler.ClusterState { return facts(node("a", 8), node("b", 0, inZone("b"))) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources, Need: gpus(8), Free: gpus(0),
				Message:  "needs 8 nvidia.com/gpu, 0 free on 1 node that may run it; the largest free node has 0 and a rank needs 2",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
			},
		},
		"terminating": {
			why: "a group that goes outranks the dialect", backend: outspoken{}, gang: gang(4, "2"),
			verdict: scheduler.Verdict{Reason: scheduler.ReasonTerminating, Message: "the group is being deleted"},
			facts:   func() scheduler.ClusterState { return facts() },
			want:    scheduler.Explanation{Reason: scheduler.ReasonTerminating, Message: "the group is being deleted"},
		},
		"the dialect's reason": {
			why: "it outranks the nodes", backend: outspoken{}, gang: gang(64, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState { return facts(node("a", 0)) },
			want:  scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed"},
		},
		"a cause in the verdict": {
			why: "a dialect without Explain that names a cause", gang: gang(64, "2"),
			verdict: scheduler.Verdict{Judged: true, Reason: scheduler.ReasonQuotaExceeded, Message: "the quota is used up"},
			facts:   func() scheduler.ClusterState { return facts(node("a", 8)) },
			want:    scheduler.Explanation{Reason: scheduler.ReasonQuotaExceeded, Message: "the quota is used up"},
		},
		"claim missing": {
			why: "no node helps", gang: gang(64, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 8))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true, Bound: true}, {Name: "ckpt"}}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonVolumeUnbound, Object: "persistentvolumeclaims/ckpt",
				Message:  "volume claim ckpt does not exist in namespace team-a",
				NextStep: "create claim ckpt, or name another one in the job's volumes",
			},
		},
		"claim unbound": {
			why: "the nodes have room", gang: gang(4, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 0))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true}}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonVolumeUnbound, Object: "persistentvolumeclaims/data",
				Message:  "the nodes have room, but volume claim data is not bound",
				NextStep: "kubectl describe pvc data -n team-a says what the volume waits for: a storage class, a provisioner or a matching volume",
			},
		},
		"claim unbound and no room": {
			why: "a claim that waits for its first consumer is not what is missing", gang: gang(4, "2"), verdict: unschedulable,
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 4))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true}}
				return f
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonInsufficientResources,
				Message:  "needs 8 nvidia.com/gpu, 4 free on 1 node that may run it; the largest free node has 4 and a rank needs 2",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(4),
			},
		},
		"no nodes": {
			why: "an empty cluster", gang: gang(1, "1"), facts: func() scheduler.ClusterState { return facts() },
			want: scheduler.Explanation{Reason: scheduler.ReasonNoNodeMatches, Message: "the cluster has no nodes", NextStep: "add nodes"},
		},
		"selector": {
			why: "the label's value is wrong", gang: gang(1, "1", zone("b")),
			facts: func() scheduler.ClusterState { return facts(node("a", 0), node("b", 0)) },
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonNoNodeMatches,
				Message:  "node selector zone=b of role worker matches none of 2 nodes",
				NextStep: "correct it (kubectl get nodes --show-labels lists what the nodes have), or label nodes so that it matches",
			},
		},
		"taint, cordon, not ready": {
			why: "nodes match and take nothing", gang: gang(1, "1", zone("a")),
			facts: func() scheduler.ClusterState {
				return facts(node("a", 0, taint), node("b", 0, cordon), node("c", 0, broken))
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonNoNodeMatches,
				Message:  "none of the 3 nodes that role worker may run on takes it: cordoned, not ready, taint team=b:NoSchedule",
				NextStep: "add tolerations for the taints to the job, or uncordon or repair the nodes",
			},
		},
		"a rank larger than any node": {
			why: "never", gang: gang(1, "16"), facts: func() scheduler.ClusterState { return facts(node("a", 3), node("b", 8)) },
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonNoNodeLargeEnough,
				Message:  "it can never start: a rank of role worker asks for 16 nvidia.com/gpu and the largest of 2 nodes that it may run on has 8",
				NextStep: "ask for at most 8 nvidia.com/gpu per rank, in more ranks, or add larger nodes",
				Need:     gpus(16), Free: gpus(5),
			},
		},
		"no such resource": {
			why: "a device plugin does not run", gang: gang(1, "1"),
			facts: func() scheduler.ClusterState {
				return facts(node("a", 0, func(n *scheduler.Node) { delete(n.Allocatable, gpu) }))
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonNoNodeLargeEnough,
				Message:  "it can never start: a rank of role worker asks for 1 nvidia.com/gpu and the largest of 1 node that it may run on has 0",
				NextStep: "add nodes that have nvidia.com/gpu, or see that its device plugin runs on them",
				Need:     gpus(1), Free: gpus(0),
			},
		},
		"a rank that asks for the best of two nodes": {
			why: "one has the GPUs, the other the CPUs", gang: gang(1, "8"),
			facts: func() scheduler.ClusterState {
				return facts(node("a", 0, cpus(100)), node("b", 0, func(n *scheduler.Node) { n.Allocatable[gpu] = 4 }))
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonNoNodeLargeEnough,
				Message:  "it can never start: no node has all that a rank of role worker asks for at once (500m cpu, 8 nvidia.com/gpu)",
				NextStep: "ask for less per rank, or add larger nodes",
				Need:     gpus(8), Free: gpus(8),
			},
		},
		"larger than the cluster": {
			why: "never, by one resource", gang: gang(6, "4"), facts: func() scheduler.ClusterState { return facts(node("a", 4), node("b", 8)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsCluster,
				Message: "it can never start: 6 ranks need together 24 nvidia.com/gpu, and 2 nodes that may run them would have room for 4 of them " +
					"if they were empty (16 nvidia.com/gpu in all)",
				NextStep: "ask for fewer ranks or a smaller minAvailable, or add nodes",
				Need:     gpus(24), Free: gpus(4),
			},
		},
		"too little free": {
			why: "the words of the issue: needs 16, 12 free, largest free node 8", gang: gang(4, "4"),
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 0), node("b", 4))
				f.Holders = []scheduler.Holder{
					{Kind: "TrainingJob", Namespace: "team-b", Name: "llama", Pods: 1, Held: scheduler.Amounts{gpu: 12}, On: map[string]scheduler.Amounts{"b": {gpu: 4}, "elsewhere": {gpu: 8}}},
					{Kind: "TrainingJob", Namespace: "team-c", Name: "elsewhere", Pods: 1, Held: scheduler.Amounts{gpu: 8}, On: map[string]scheduler.Amounts{"elsewhere": {gpu: 8}}},
					{Kind: "TrainingJob", Namespace: "team-a", Name: "bert", Pods: 1, Held: scheduler.Amounts{gpu: 9}, On: map[string]scheduler.Amounts{"b": {gpu: 9}}},
				}
				f.Waiting = []scheduler.Waiter{f.Self, waiter("team-b", "earlier", 0, 9)}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 16 nvidia.com/gpu, 12 free on 2 nodes that may run it; the largest free node has 8 and a rank needs 4; " +
					"held by team-b/llama (4); 1 job waits before it",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
				Need:     gpus(16), Free: gpus(12),
			},
		},
		"free in pieces": {
			why: "enough in sum, not in one place", gang: gang(2, "4"), facts: func() scheduler.ClusterState { return facts(node("a", 5), node("b", 5), node("c", 5)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, 9 free on 3 nodes that may run it; the largest free node has 3 and a rank needs 4: " +
					"room for 0 of 2 ranks",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(9),
			},
		},
		"nodes that do not count": {
			why: "what is free on nodes that it may not run on is not free for it", gang: gang(2, "8", zone("a")),
			facts: func() scheduler.ClusterState {
				elsewhere := func(n *scheduler.Node) { n.Labels = map[string]string{"zone": "b"} }
				return facts(node("a", 0), node("b", 8), node("c", 0, elsewhere), node("d", 0, taint), node("e", 0, cordon))
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonInsufficientResources,
				Message:  "needs 16 nvidia.com/gpu, 8 free on 2 nodes that may run it; the largest free node has 8 and a rank needs 8",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
				Need:     gpus(16), Free: gpus(8),
			},
		},
		"ranks that hold a node already": {
			why: "what they request is part of what is used", gang: gang(4, "4"),
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 8), node("b", 4))
				f.Bound = map[string]int32{"worker": 2}
				return f
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonInsufficientResources,
				Message:  "needs 8 nvidia.com/gpu, 4 free on 2 nodes that may run it; the largest free node has 4 and a rank needs 4",
				NextStep: "wait until others end, ask for less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(4),
			},
		},
		"behind others, tried itself": {
			why: "it was not held back for them", gang: gang(4, "2"), verdict: unschedulable, want: own,
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 0))
				f.Waiting = []scheduler.Waiter{waiter("team-b", "earlier", 0, 9), f.Self}
				return f
			},
		},
		"behind others": {
			why: "there is room, and who is served first is told", gang: gang(4, "2"),
			verdict: scheduler.Verdict{Judged: true, Reason: scheduler.ReasonWaitingInQueue, Message: "others go first"},
			facts: func() scheduler.ClusterState {
				f := facts(node("a", 0))
				other := waiter("team-c", "elsewhere", 9, 0)
				other.Queue = "default"
				f.Waiting = []scheduler.Waiter{
					waiter("team-b", "earlier", 0, 9), f.Self, waiter("team-b", "later", 0, 11), waiter("team-b", "higher", 5, 20), other,
				}
				return f
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonWaitingBehind,
				Message:  "2 jobs wait in queue research before it, the first is team-b/higher",
				NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := tc.backend
			if b == nil {
				b = mute{}
			}
			got, ok := scheduler.Explain(b, tc.gang, nil, tc.verdict, tc.facts())
			if ok != (tc.want.Reason != "") {
				t.Errorf("%s: explained: %t", tc.why, ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.why, diff)
			}
		})
	}
}

func TestSeveralRoles(t *testing.T) {
	g := gang(1, "8")
	ps := gang(2, "1").Roles[0]
	ps.Name = "ps"
	g.Roles = append([]scheduler.Role{ps}, g.Roles...)
	cases := map[string]struct {
		why   string
		nodes []scheduler.Node
		want  string
	}{
		"the large rank chooses first": {"the small ones would take its node", []scheduler.Node{node("a", 0), node("b", 6)}, ""},
		"not all have room":            {"one node for the worker, one GPU for two servers", []scheduler.Node{node("a", 0), node("b", 7)}, scheduler.ReasonInsufficientResources},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if e, _ := scheduler.Explain(mute{}, g, nil, scheduler.Verdict{}, facts(tc.nodes...)); e.Reason != tc.want {
				t.Errorf("%s: got %+v, want reason %q", tc.why, e, tc.want)
			}
		})
	}
}

func TestFactsQueries(t *testing.T) {
	f := facts(node("a", 3), node("b", 8), node("c", 9), node("d", 0, taint))
	tolerant := &corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}}
	affine := func(op corev1.NodeSelectorOperator, key string, values ...string) *corev1.PodSpec {
		terms := []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}}
		return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}}
	}
	cases := map[string]struct{ want, got any }{
		"total free":                        {int64(13), scheduler.TotalFree(f.Nodes, gpu)},
		"largest free":                      {int64(8), scheduler.LargestFree(f.Nodes, gpu)},
		"largest free of none":              {int64(0), scheduler.LargestFree(nil, gpu)},
		"largest node":                      {int64(96000), scheduler.LargestNode(f.Nodes, corev1.ResourceCPU)},
		"free is never below 0":             {int64(0), f.Nodes[2].Free(gpu)},
		"open without toleration":           {3, len(scheduler.Open(f.Nodes, &corev1.PodSpec{}))},
		"open with it":                      {4, len(scheduler.Open(f.Nodes, tolerant))},
		"selected by field":                 {1, len(f.Selected(affine(corev1.NodeSelectorOpIn, "metadata.name", "b")))},
		"an affinity that cannot be read":   {0, len(f.Selected(affine("Nonsense", "metadata.name", "b")))},
		"amounts of CPU are in thousandths": {scheduler.Amounts{corev1.ResourceCPU: 1500, gpu: 2}, scheduler.AmountsOf(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), gpu: resource.MustParse("2")})},
		"and go back":                       {"1500m", text(scheduler.Quantity(corev1.ResourceCPU, 1500))},
		"memory":                            {"4Gi", text(scheduler.Quantity(corev1.ResourceMemory, 4<<30))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func text(q resource.Quantity) string { return q.String() }

func TestQuotaReason(t *testing.T) {
	holders := func(corev1.ResourceName) []scheduler.Holder {
		var list []scheduler.Holder
		for i := range 5 {
			list = append(list, scheduler.Holder{Namespace: "team-b", Name: fmt.Sprintf("job-%d", i), Held: scheduler.Amounts{gpu: int64(9 - i)}})
		}
		return list
	}
	cases := map[string]struct {
		need, nominal, used scheduler.Amounts
		want                scheduler.Explanation
	}{
		"fits":        {need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{gpu: 8}, used: scheduler.Amounts{gpu: 4}},
		"not limited": {need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{corev1.ResourceCPU: 1}},
		"used up": {
			need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{gpu: 32}, used: scheduler.Amounts{gpu: 30},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Object: "queues/research",
				Message:  "it needs 4 nvidia.com/gpu; queue research has 2 nvidia.com/gpu free of 32; held by team-b/job-0 (9), team-b/job-1 (8), team-b/job-2 (7) and 2 more",
				NextStep: "wait until jobs of queue research end, or ask the admin to raise it",
				Need:     gpus(4), Free: gpus(2),
			},
		},
		"never": {
			need: scheduler.Amounts{gpu: 33, corev1.ResourceCPU: 5}, nominal: scheduler.Amounts{gpu: 32, corev1.ResourceCPU: 4}, used: scheduler.Amounts{gpu: 40},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues/research",
				Message: "it can never start: it needs 33 nvidia.com/gpu and the whole of queue research is 32 nvidia.com/gpu",
				NextStep: "ask for at most 32 nvidia.com/gpu (fewer ranks, fewer per rank, or a smaller minAvailable), " +
					"or ask the admin to raise queue research",
				Need: gpus(33), Free: gpus(0),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := scheduler.QuotaReason("queue research", "queues/research", tc.need, tc.nominal, tc.used, holders)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != (tc.want.Reason != "") {
				t.Errorf("explained: %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}
