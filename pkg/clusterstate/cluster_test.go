package clusterstate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

func newNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				gpu:                 resource.MustParse("8"),
				corev1.ResourceCPU:  resource.MustParse("96"),
				corev1.ResourcePods: resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// newPod on a node with so many GPUs, controlled by the job of a name; "": no controller.
func newPod(uid, node, gpus, job string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "team-a", UID: types.UID(uid)},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if gpus != "" {
		p.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse(gpus)
	}
	if job != "" {
		p.OwnerReferences = []metav1.OwnerReference{{
			Kind: "TrainingJob", Name: job, UID: types.UID("job-" + job), Controller: new(true),
		}}
	}
	return p
}

func ended(p *corev1.Pod) *corev1.Pod {
	p.Status.Phase = corev1.PodSucceeded
	return p
}

// Only what may let other pods onto a node is a change: its kubelet reports every few seconds.
func TestNodeChanges(t *testing.T) {
	c := New("TrainingJob")
	for _, step := range []struct {
		what string
		edit func(*corev1.Node)
		want bool
	}{
		{"it appears", func(*corev1.Node) {}, true},
		{"a heartbeat", func(*corev1.Node) {}, false},
		{"not ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, false},
		{"a label", func(n *corev1.Node) { n.Labels = map[string]string{"zone": "a"} }, true},
		{"the label goes", func(*corev1.Node) {}, true},
		{"a taint", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}
		}, true},
		{"the taint goes", func(*corev1.Node) {}, true},
		{"more GPUs", func(n *corev1.Node) { n.Status.Allocatable[gpu] = resource.MustParse("16") }, true},
		{"cordoned", func(n *corev1.Node) {
			n.Status.Allocatable[gpu], n.Spec.Unschedulable = resource.MustParse("16"), true
		}, false},
	} {
		n := newNode("a")
		step.edit(n)
		if got := c.SetNode(n); got != step.want {
			t.Errorf("%s: changed %t", step.what, got)
		}
	}
	if nodes := c.Empty().Nodes; len(nodes) != 1 || nodes[0].Allocatable[gpu] != 16 {
		t.Errorf("the empty node is %+v", nodes)
	}
	c.SetNode(newNode("a"))
	c.SetNode(newNode("b"))
	c.SetPod(newPod("p", "b", "8", "bert"))
	nodes, complete := c.Empty().Nodes, c.Empty().Complete
	if len(nodes) != 2 || nodes[0].Free(gpu) != 8 || nodes[1].Free(gpu) != 8 || complete {
		t.Errorf("the empty nodes are %+v, complete %t", nodes, complete)
	}
	c.DropNode("b")
	if nodes := c.Empty().Nodes; len(nodes) != 1 {
		t.Errorf("a node is gone, and there are %d", len(nodes))
	}
	c.DropNode("a")
	if !c.SetNode(newNode("a")) {
		t.Error("it is back, and that is no change")
	}
	c.SetJob(types.NamespacedName{Namespace: "team-a", Name: "bert"}, Job{Waiting: true})
	c.SetJob(types.NamespacedName{Namespace: "team-a", Name: "llama"}, Job{Waiting: true, ForNodes: true})
	want := []types.NamespacedName{{Namespace: "team-a", Name: "llama"}}
	if diff := cmp.Diff(want, c.WaitingForNodes()); diff != "" {
		t.Errorf("who waits for other nodes (-want +got):\n%s", diff)
	}
}

func TestSums(t *testing.T) {
	c := New("TrainingJob")
	for _, name := range []string{"b", "a"} {
		c.SetNode(newNode(name))
	}
	c.NodesSynced()
	if c.State().Complete {
		t.Error("complete before any pod is known: what is free would be everything")
	}
	c.SetJob(types.NamespacedName{Namespace: "team-a", Name: "bert"}, Job{Queue: "research"})
	alone := newPod("alone", "b", "1", "")
	alone.Annotations = map[string]string{"volcano.sh/queue-name": "default"}
	c.SetPods("", []*corev1.Pod{
		newPod("p1", "a", "4", "bert"), newPod("p2", "a", "2", "bert"), alone,
		newPod("cpu", "a", "", ""), ended(newPod("done", "a", "8", "bert")),
		newPod("elsewhere", "unknown", "1", "bert"),
	})
	want := scheduler.ClusterState{
		Complete: true,
		Nodes:    []scheduler.Node{shown(newNode("a"), 6, 1500, 3), shown(newNode("b"), 1, 500, 1)},
		Holders: []scheduler.Holder{
			{Kind: "Pod", Namespace: "team-a", Name: "alone", Queue: "default", Pods: 1,
				Held: scheduler.Amounts{gpu: 1, corev1.ResourceCPU: 500},
				On:   map[string]scheduler.Amounts{"b": {gpu: 1, corev1.ResourceCPU: 500}}},
			{Kind: "TrainingJob", Namespace: "team-a", Name: "bert", Queue: "research", Pods: 3,
				Held: scheduler.Amounts{gpu: 7, corev1.ResourceCPU: 1500},
				On: map[string]scheduler.Amounts{"a": {gpu: 6, corev1.ResourceCPU: 1000},
					"unknown": {gpu: 1, corev1.ResourceCPU: 500}}},
		},
	}
	if diff := cmp.Diff(want, c.stateAlone()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	before := c.stateAlone()
	c.DropPod("team-a", "p1")
	c.SetPod(ended(newPod("p2", "a", "2", "bert")))
	c.DropPod("team-a", "elsewhere")
	c.DropPod("team-a", "alone")
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("what was returned has changed (-want +got):\n%s", diff)
	}
	want.Nodes = []scheduler.Node{shown(newNode("a"), 0, 500, 1), shown(newNode("b"), 0, 0, 0)}
	want.Holders = []scheduler.Holder{}
	if diff := cmp.Diff(want, c.stateAlone()); diff != "" {
		t.Errorf("after all have gone (-want +got):\n%s", diff)
	}
}

func shown(n *corev1.Node, gpus, cpu, pods int64) scheduler.Node {
	requested := scheduler.Amounts{gpu: gpus, corev1.ResourceCPU: cpu, corev1.ResourcePods: pods}
	for name, n := range requested {
		if n == 0 {
			delete(requested, name)
		}
	}
	return scheduler.Node{Node: n, Allocatable: scheduler.AmountsOf(n.Status.Allocatable), Requested: requested}
}

// TestJobsThatOnlyWait: thousands come and go, and what was computed of the cluster stays valid. Where a job
// holds GPUs its queue matters.
func TestJobsThatOnlyWait(t *testing.T) {
	c := New("TrainingJob")
	c.SetPods("", []*corev1.Pod{newPod("p1", "a", "4", "bert")})
	named := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: "team-a", Name: name}
	}
	c.SetJob(named("bert"), Job{Queue: "research"})
	before := c.State()
	for _, name := range []string{"ant", "bertha", "zebra"} {
		c.SetJob(named(name), Job{Queue: "research", Waiting: true})
		c.DropJob(named(name))
	}
	if c.State().Shared != before.Shared {
		t.Error("jobs that only wait change the state")
	}
	c.SetJob(named("bert"), Job{Queue: "production"})
	after := c.State()
	if after.Shared == before.Shared || after.Holders[0].Queue != "production" {
		t.Errorf("a holder has another queue, and the state has %+v", after.Holders)
	}
}

// Events in any order, repeated, with nodes that come and go: the sums are those of a new aggregate of what
// is left.
func TestSumsAfterAnyHistory(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := New("TrainingJob")
		nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
		var before scheduler.ClusterState
		for range 300 {
			node, uid := fmt.Sprint("n", random.IntN(3)), fmt.Sprint("p", random.IntN(10))
			switch random.IntN(7) {
			case 0:
				nodes[node] = newNode(node)
				c.SetNode(nodes[node])
			case 1:
				delete(nodes, node)
				c.DropNode(node)
			case 2, 3, 4:
				p := newPod(uid, node, fmt.Sprint(random.IntN(4)), fmt.Sprint("job", random.IntN(3)))
				if old := pods[uid]; old != nil { // a pod keeps its node and its owner, and may be resized in place
					p.Spec.NodeName, p.OwnerReferences = old.Spec.NodeName, old.OwnerReferences
				}
				pods[uid] = p
				c.SetPod(p)
			case 5:
				delete(pods, uid)
				c.DropPod("team-a", types.UID(uid))
			case 6:
				var all []*corev1.Pod
				for _, p := range pods {
					all = append(all, p)
				}
				c.SetPods("", all)
			}
			if random.IntN(3) > 0 {
				continue
			}
			now := c.State()
			if now.Shared == before.Shared &&
				(!cmp.Equal(before.Nodes, now.Nodes) || !cmp.Equal(before.Holders, now.Holders)) {
				t.Fatalf("seed %d: what was shared of a state outlives it", seed)
			}
			before = now
		}
		fresh := New("TrainingJob")
		for _, n := range nodes {
			fresh.SetNode(n)
		}
		for _, p := range pods {
			fresh.SetPod(p)
		}
		got, want := c.State(), fresh.State()
		if c.State().Shared != got.Shared {
			t.Fatalf("seed %d: nothing has changed, and what was shared is gone", seed)
		}
		got.Complete, got.Shared, want.Shared = false, nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-fresh +got):\n%s", seed, diff)
		}
		if n := c.leftWithout(nodes, pods); n != 0 {
			t.Fatalf("seed %d: %d entries are left of nothing", seed, n)
		}
	}
}

// stateAlone is the state without what was computed from it.
func (c *Cluster) stateAlone() scheduler.ClusterState {
	s := c.State()
	s.Shared = nil
	return s
}

// leftWithout drops the nodes and pods, and counts what is left.
func (c *Cluster) leftWithout(nodes map[string]*corev1.Node, pods map[string]*corev1.Pod) int {
	for uid := range pods {
		c.DropPod("team-a", types.UID(uid))
	}
	for name := range nodes {
		c.DropNode(name)
	}
	return len(c.nodes) + len(c.pods) + len(c.owners) + len(c.ordered) + len(c.requests)
}

func TestAhead(t *testing.T) {
	c := New("TrainingJob")
	name := func(n string) types.NamespacedName { return types.NamespacedName{Namespace: "team-a", Name: n} }
	job := func(queue, class string, minute int) Job {
		since := metav1.Date(2026, 11, 23, 12, minute, 0, 0, time.UTC)
		return Job{Scheduler: "volcano", Queue: queue, PriorityClass: class, Since: since, Waiting: true}
	}
	c.SetJob(name("high"), job("q", "high", 5))
	c.SetJob(name("early"), job("q", "", 1))
	c.SetJob(name("late"), job("q", "", 9))
	c.SetJob(name("elsewhere"), job("other", "high", 0))
	runs := job("q", "high", 0)
	runs.Waiting = false
	c.SetJob(name("runs"), runs)
	c.SetClasses([]schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100},
		{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, Value: 7, GlobalDefault: true},
	})
	expect := func(reason, of string, minute, count int, first string) {
		t.Helper()
		got := c.Ahead(c.Waiter(name(of), job("q", "", minute)))
		if got.Count != count || got.First.Name != first {
			t.Errorf("%s: %d are before %s, the first is %q; want %d, %q", reason, got.Count, of, got.First.Name,
				count, first)
		}
	}
	expect("a higher class and who came before", "late", 9, 2, "high")
	expect("a higher class", "early", 1, 1, "high")
	expect("one that the queue does not know yet", "new", 5, 2, "high")
	c.DropClass("high")
	expect("a class that is gone counts as 0", "late", 9, 1, "early")
	c.SetClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	expect("it is back", "late", 9, 2, "high")
	c.DropJob(name("high"))
	expect("one is gone", "late", 9, 1, "early")
	c.SetJob(name("early"), job("other", "", 1))
	expect("one has changed its queue", "late", 9, 0, "")
	c.SetJob(name("late"), Job{Scheduler: "volcano", Queue: "q"})
	expect("the queue is empty", "new", 5, 0, "")
	if len(c.queues) != 1 {
		t.Errorf("an empty queue is kept: %v", c.queues)
	}
}

// TestQueuesInAnyOrder: whatever happens in whichever order, a job's place is that among those that wait.
func TestQueuesInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := New("TrainingJob")
	classes := []string{"", "low", "high"}
	for range 5000 {
		name := types.NamespacedName{Namespace: "team-a", Name: fmt.Sprint("job-", random.IntN(40))}
		switch random.IntN(10) {
		case 0:
			c.DropJob(name)
		case 1:
			c.SetClass(&schedulingv1.PriorityClass{
				ObjectMeta: metav1.ObjectMeta{Name: classes[1+random.IntN(2)]}, Value: random.Int32N(3),
			})
		default:
			c.SetJob(name, Job{
				Scheduler: "volcano", Queue: fmt.Sprint("q", random.IntN(2)), PriorityClass: classes[random.IntN(3)],
				Since: metav1.Unix(random.Int64N(5), 0), Waiting: random.IntN(3) > 0,
			})
		}
		for name, job := range c.jobs {
			self := c.waiter(name, job)
			want := 0
			for other, j := range c.jobs {
				if w := c.waiter(other, j); j.Waiting && w.Queue == self.Queue && w.Compare(self) < 0 {
					want++
				}
			}
			if got := c.Ahead(self).Count; got != want {
				t.Fatalf("%d are before %s, want %d", got, name, want)
			}
		}
	}
}

func TestObjects(t *testing.T) {
	c := New("TrainingJob")
	gvk := schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "Queue"}
	if _, known := c.State().Objects[gvk]; known {
		t.Error("a kind is known before its list is in")
	}
	c.SetObjects(gvk, "", nil)
	if list, known := c.State().Objects[gvk]; !known || len(list) != 0 {
		t.Error("an empty list is known to be empty")
	}
	q := func(name, version string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
	}
	if old := c.SetObject(gvk, q("b", "1")); old != nil {
		t.Errorf("it is new, got %v", old)
	}
	if old := c.SetObject(gvk, q("b", "2")); old.GetResourceVersion() != "1" {
		t.Errorf("got %v", old)
	}
	c.SetObject(gvk, q("a", "1"))
	c.SetObject(gvk, q("c", "1"))
	c.DropObject(gvk, q("c", "1"))
	var names []string
	for _, o := range c.State().Objects[gvk] {
		names = append(names, o.GetName()+o.GetResourceVersion())
	}
	if diff := cmp.Diff([]string{"a1", "b2"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
