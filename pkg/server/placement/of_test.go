package placement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// scenario of two racks and a node without GPUs.
func scenario() (*Snapshot, []*v1alpha1.TrainingJob) {
	in := func(r string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[rack] = r } }
	c := known(
		newNode("a", in("r1")), newNode("b", in("r1")),
		newNode("c", in("r2"), func(n *corev1.Node) { n.Spec.Unschedulable = true }),
		newNode("d", in("r2"), func(n *corev1.Node) { n.Status.Allocatable = list(7) }),
		newNode("cpu", offers(0), func(n *corev1.Node) { n.Labels = nil }),
		newNode("unused", offers(0), func(n *corev1.Node) { n.Labels = nil }),
		newRank("team-a", "bert", "worker", 1, "b", 4), newRank("team-a", "bert", "worker", 0, "a", 4),
		newRank("team-a", "bert", "ps", 0, "cpu", 0),
		newRank("team-b", "llama", "worker", 0, "a", 2), newRank("team-b", "llama", "worker", 1, "c", 8),
		newPod("team-b", "notebook", "a", 1),
	)
	return c.view(), []*v1alpha1.TrainingJob{
		newJob("team-a", "bert", v1alpha1.PhaseRunning), newJob("team-b", "llama", v1alpha1.PhaseStarting),
	}
}

// offers sets the number of GPUs of a node.
func offers(gpus int64) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = list(gpus), list(gpus) }
}

func ranks(all ...Rank) []Rank { return all }

func worker(index int32, gpus int64) Rank {
	return Rank{Role: "worker", Index: index, GPUs: gpus, State: Running}
}

// TestMap: a viewer with all rights sees everything.
func TestMap(t *testing.T) {
	s, jobs := scenario()
	got := Of(s, everything(), jobs)
	want := Map{
		Version: s.Version, NodesKnown: true, HoldersKnown: true,
		Gangs: []Gang{
			{UID: "uid-llama", Namespace: "team-b", Name: "llama", Phase: v1alpha1.PhaseStarting, GPUs: 10, Nodes: 2},
			{UID: "uid-bert", Namespace: "team-a", Name: "bert", Phase: v1alpha1.PhaseRunning, GPUs: 8, Nodes: 3},
		},
		Totals: Totals{Nodes: 5, GPUs: 32, Used: 19, Other: 1, Free: 12, Unusable: 1},
		Groups: []Group{{
			Totals: Totals{Nodes: 1},
			Nodes: []NodeUse{{
				Name: "cpu", Holders: []Holder{{Gang: 1, Ranks: ranks(Rank{Role: "ps", State: Running})}},
			}},
		}, {
			Kind: "H100", DomainKey: rack, Domain: "r1",
			Totals: Totals{Nodes: 2, GPUs: 16, Used: 11, Other: 1, Free: 5},
			Nodes: []NodeUse{{
				Name: "a", GPUs: 8, Used: 7, Free: 1, Holders: []Holder{
					{Gang: 1, GPUs: 4, Ranks: ranks(worker(0, 4))}, {Gang: 0, GPUs: 2, Ranks: ranks(worker(0, 2))},
					{Gang: -1, GPUs: 1},
				},
			}, {
				Name: "b", GPUs: 8, Used: 4, Free: 4, Holders: []Holder{
					{Gang: 1, GPUs: 4, Ranks: ranks(worker(1, 4))},
				},
			}},
		}, {
			Kind: "H100", DomainKey: rack, Domain: "r2",
			Totals: Totals{Nodes: 2, GPUs: 16, Used: 8, Free: 7, Unusable: 1},
			Nodes: []NodeUse{{
				Name: "c", GPUs: 8, Used: 8, Reasons: []Reason{Cordoned},
				Holders: []Holder{{Gang: 0, GPUs: 8, Ranks: ranks(worker(1, 8))}},
			}, {
				Name: "d", GPUs: 8, Free: 7, Unusable: 1, Reasons: []Reason{NotOffered},
			}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := got.Find("c"); n == nil || n.Name != "c" || !n.Has(0) || n.Has(1) {
		t.Errorf("c is found as %+v", n)
	}
	if n := got.Find("unused"); n != nil {
		t.Errorf("a node without GPUs and ranks is found: %+v", n)
	}
}

// TestMapOfOneNamespace: hidden gangs are one holder without a name, and count in the sums.
func TestMapOfOneNamespace(t *testing.T) {
	s, jobs := scenario()
	all, got := Of(s, everything(), jobs), Of(s, only("team-a"), jobs)
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, "llama") || strings.Contains(text, "team-b") {
		t.Errorf("it names what it may not: %s", text)
	}
	if got.Totals.Other != 11 || got.Totals.Used != all.Totals.Used || got.Totals.Free != all.Totals.Free {
		t.Errorf("the totals are %+v, those of all %+v", got.Totals, all.Totals)
	}
	want := []Holder{{Gang: 0, GPUs: 4, Ranks: ranks(worker(0, 4))}, {Gang: -1, GPUs: 3}}
	if diff := cmp.Diff(want, got.Find("a").Holders); diff != "" {
		t.Errorf("holders of a (-want +got):\n%s", diff)
	}
}

// TestNewViewer: users who may list a job see the gangs of its namespace only.
func TestNewViewer(t *testing.T) {
	s, jobs := scenario()
	got, want := Of(s, NewViewer(true, jobs[:1]), jobs[:1]), Of(s, only("team-a"), jobs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := Of(s, NewViewer(false, nil), nil); len(m.Groups) > 0 {
		t.Errorf("who may see nothing sees %+v", m.Groups)
	}
}

// TestUnusable: unusable GPUs are never free.
func TestUnusable(t *testing.T) {
	full := newRank("team-a", "bert", "worker", 0, "a", 8)
	for name, of := range map[string]struct {
		objects []any
		want    NodeUse
	}{
		"not ready": {
			[]any{newNode("a", func(n *corev1.Node) { n.Status.Conditions = nil }),
				newRank("team-a", "bert", "worker", 0, "a", 2)},
			NodeUse{GPUs: 8, Used: 2, Unusable: 6, Reasons: []Reason{NotReady}},
		},
		"cordoned": {
			[]any{newNode("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
				newRank("team-a", "bert", "worker", 0, "a", 2)},
			NodeUse{GPUs: 8, Used: 2, Unusable: 6, Reasons: []Reason{Cordoned}},
		},
		"its GPUs have disappeared": {
			[]any{newNode("a", func(n *corev1.Node) { n.Status.Allocatable = list(0) }), full},
			NodeUse{GPUs: 8, Used: 8, Reasons: []Reason{NotOffered, Overcommitted}},
		},
		"more than its capacity": {
			[]any{newNode("a", offers(4)), full},
			NodeUse{GPUs: 8, Used: 8, Reasons: []Reason{Overcommitted}},
		},
		"it is deleted": {[]any{full}, NodeUse{GPUs: 8, Used: 8, Reasons: []Reason{Gone}}},
		"its device plugin is removed": {
			[]any{newNode("a", offers(0))},
			NodeUse{},
		},
	} {
		m := Of(known(of.objects...).view(), everything(), nil)
		got := m.Find("a")
		if got == nil {
			t.Errorf("%s: it is missing", name)
			continue
		}
		of.want.Name, got.Holders = "a", nil
		if diff := cmp.Diff(of.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHoldersUnknown: without pods the holders are marked unknown.
func TestHoldersUnknown(t *testing.T) {
	c := newCluster("here", counting())
	c.ofNodes.listed = true
	c.setNode(newNode("a"))
	m := Of(c.view(), everything(), nil)
	if m.HoldersKnown || !m.NodesKnown || len(m.Problems) != 1 || m.Totals != (Totals{Nodes: 1, GPUs: 8}) {
		t.Errorf("the map is %+v", m)
	}
}

// TestMapFromStatuses: users who may not list nodes see those of their own jobs, only by name.
func TestMapFromStatuses(t *testing.T) {
	s, jobs := scenario()
	jobs[0].Status.GPUs, jobs[0].Status.AllocatedNodes = 8, []string{"a", "b", "cpu"}
	jobs[0].Status.Workers = []v1alpha1.WorkerStatus{
		{Role: v1alpha1.RoleWorker, Index: 1, Phase: "Terminating", Node: "b"},
		{Role: v1alpha1.RoleWorker, Index: 0, Phase: "Running", Node: "a"},
		{Role: v1alpha1.RoleWorker, Index: 2, Phase: "Succeeded", Node: "a"},
		{Role: v1alpha1.RoleWorker, Index: 3, Phase: "Missing"},
	}
	jobs[1].Status.AllocatedNodes = []string{"a", "c"}
	want := []Group{{Totals: Totals{Nodes: 3}, Nodes: []NodeUse{
		{Name: "a", Holders: []Holder{{Ranks: ranks(Rank{Role: "worker", State: Running})}}},
		{Name: "b", Holders: []Holder{{Ranks: ranks(Rank{Role: "worker", Index: 1, State: Ending})}}},
		{Name: "cpu", Holders: []Holder{{}}},
	}}}
	viewer := only("team-a")
	viewer.ListsNodes = false
	unread := newCluster("here", counting()).view()
	for name, of := range map[string]struct {
		s *Snapshot
		v Viewer
	}{"they may not list nodes": {s, viewer}, "the server has none": {unread, only("team-a")}} {
		m := Of(of.s, of.v, jobs)
		if diff := cmp.Diff(want, m.Groups); diff != "" || m.NodesKnown || len(m.Problems) == 0 {
			t.Errorf("%s: problems %v (-want +got):\n%s", name, m.Problems, diff)
		}
		if diff := cmp.Diff([]Gang{{
			UID: "uid-bert", Namespace: "team-a", Name: "bert", Phase: v1alpha1.PhaseRunning, GPUs: 8, Nodes: 3,
		}}, m.Gangs); diff != "" {
			t.Errorf("%s: gangs (-want +got):\n%s", name, diff)
		}
	}
}

// TestMoreNodes: a status names at most 100 nodes.
func TestMoreNodes(t *testing.T) {
	j := newJob("team-a", "bert", v1alpha1.PhaseRunning)
	for i := range 100 {
		j.Status.AllocatedNodes = append(j.Status.AllocatedNodes, fmt.Sprint("node-", i))
	}
	m := Of(&Snapshot{}, Viewer{Sees: everything().Sees}, []*v1alpha1.TrainingJob{j})
	if len(m.Gangs) != 1 || !m.Gangs[0].More || m.Gangs[0].Nodes != 100 {
		t.Errorf("%+v", m.Gangs)
	}
}

// TestWaiting: jobs that wait for GPUs, in order of creation.
func TestWaiting(t *testing.T) {
	at := func(minute int) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.CreationTimestamp = metav1.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC)
		}
	}
	jobs := []*v1alpha1.TrainingJob{
		newJob("team-a", "second", v1alpha1.PhaseQueued, at(2), func(j *v1alpha1.TrainingJob) {
			j.Status.GPUs = 64
			j.Status.Scheduling = &v1alpha1.SchedulingStatus{Blocker: &v1alpha1.Blocker{Reason: "NotEnoughGPUs"}}
		}),
		newJob("team-a", "running", v1alpha1.PhaseRunning, at(1)),
		newJob("team-a", "suspended", "", at(1), func(j *v1alpha1.TrainingJob) {
			j.Spec.RunPolicy.Suspend = new(true)
		}),
		newJob("team-a", "first", "", at(1)),
		newJob("team-b", "hidden", v1alpha1.PhaseQueued, at(0)),
	}
	want := []Waiting{
		{UID: "uid-first", Namespace: "team-a", Name: "first", Created: jobs[3].CreationTimestamp.UTC()},
		{
			UID: "uid-second", Namespace: "team-a", Name: "second", Phase: v1alpha1.PhaseQueued, GPUs: 64,
			Created: jobs[0].CreationTimestamp.UTC(), Reason: "NotEnoughGPUs",
		},
	}
	if diff := cmp.Diff(want, Of(&Snapshot{}, only("team-a"), jobs).Waiting); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSumsHold: after random changes each GPU is used, free or unusable, and no hidden gang is named.
func TestSumsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	c := known()
	name := func(n int) string { return fmt.Sprint("n", random.IntN(n)) }
	for range 2000 {
		switch random.IntN(5) {
		case 0:
			c.setNode(newNode(name(20), func(n *corev1.Node) {
				n.Spec.Unschedulable = random.IntN(4) == 0
				n.Status.Capacity, n.Status.Allocatable = list(random.Int64N(9)), list(random.Int64N(9))
				n.Labels[rack] = name(3)
			}))
		case 1:
			c.dropNode(name(20))
		case 2:
			c.setPod(newRank(name(3), name(5), "worker", random.IntN(10), name(20), random.Int64N(5)))
		case 3:
			c.setPod(newPod("secret", name(30), name(20), random.Int64N(3)))
		default:
			for uid := range c.pods { // any
				c.dropPod(uid)
				break
			}
		}
		m := Of(c.view(), only("n1"), nil)
		sums := Totals{}
		for _, g := range m.Groups {
			for i := range g.Nodes {
				n := &g.Nodes[i]
				sums.add(n)
				if n.Used+n.Free+n.Unusable != n.GPUs || n.Free < 0 || n.Unusable < 0 {
					t.Fatalf("%+v does not add up", n)
				}
			}
		}
		if diff := cmp.Diff(sums, m.Totals); diff != "" {
			t.Fatalf("totals (-want +got):\n%s", diff)
		}
		var held int64
		for _, g := range m.Gangs {
			held += g.GPUs
			if g.Namespace != "n1" {
				t.Fatalf("%+v is named", g)
			}
		}
		if held+m.Totals.Other != m.Totals.Used {
			t.Fatalf("gangs hold %d, others %d, and %d are used", held, m.Totals.Other, m.Totals.Used)
		}
	}
}

// BenchmarkMap makes a map of 10,000 ranks on 1,250 nodes.
func BenchmarkMap(b *testing.B) {
	c := known()
	for n := range 1250 {
		c.setNode(newNode(fmt.Sprintf("gpu-%04d", n)))
		for i := range 8 {
			job := fmt.Sprint("job", n/10)
			c.setPod(newRank("team-a", job, "worker", n%10*8+i, fmt.Sprintf("gpu-%04d", n), 1))
		}
	}
	s, v := c.view(), everything()
	b.ReportAllocs()
	for b.Loop() {
		Of(s, v, nil)
	}
}
