package clusterview

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/goldentest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/palette"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// evil is a name that the API server rejects, and that pages must escape.
const evil = `<script>alert("x")</script>'&`

func worker(from, to int32, state placement.RankState) []placement.Rank {
	var all []placement.Rank
	for i := from; i <= to; i++ {
		all = append(all, placement.Rank{Role: "worker", Index: i, GPUs: 1, State: state})
	}
	return all
}

func gang(namespace, name string, gpus int64, nodes int) placement.Gang {
	return placement.Gang{
		UID: types.UID("uid-" + name), Namespace: namespace, Name: name, Phase: v1alpha1.PhaseRunning, GPUs: gpus,
		Nodes: nodes,
	}
}

// small cluster with one case of everything.
func small() placement.Map {
	used := func(name string, free int64, holders ...placement.Holder) placement.NodeUse {
		n := placement.NodeUse{Name: name, Free: free, Holders: holders}
		for _, h := range holders {
			n.Used += h.GPUs
		}
		n.GPUs = n.Used + n.Free
		return n
	}
	cordoned := used("gpu-4", 0, placement.Holder{Gang: 1, GPUs: 6, Ranks: worker(10, 15, placement.Ending)})
	cordoned.GPUs, cordoned.Unusable, cordoned.Reasons = 8, 2, []placement.Reason{placement.Cordoned}
	broken := used("gpu-6", 0)
	broken.GPUs, broken.Unusable = 8, 8
	broken.Reasons = []placement.Reason{placement.NotReady, placement.NotOffered}
	sliced := used("mig-0", 21, placement.Holder{Gang: 2, GPUs: 7, Ranks: []placement.Rank{
		{Role: "worker", Index: 0, GPUs: 7, State: placement.Running}}}, placement.Holder{Gang: -1, GPUs: 28})
	ps := placement.Holder{Gang: 1, Ranks: []placement.Rank{{Role: "ps", Index: 0, State: placement.Running}}}
	return placement.Map{
		NodesKnown: true, HoldersKnown: true,
		Gangs: []placement.Gang{
			gang("team-a", "llama-70b", 16, 2), gang("team-b", "bert", 10, 3), gang("team-a", evil, 9, 2),
		},
		Groups: []placement.Group{{
			Totals: placement.Totals{Nodes: 1}, Nodes: []placement.NodeUse{used("cpu-0", 0, ps)},
		}, {
			Kind: "NVIDIA-H100-80GB-HBM3", DomainKey: "example.com/rack", Domain: "r1",
			Totals: placement.Totals{Nodes: 4, GPUs: 32, Used: 23, Other: 1, Free: 9},
			Nodes: []placement.NodeUse{
				used("gpu-0", 0, placement.Holder{Gang: 0, GPUs: 8, Ranks: worker(0, 7, placement.Running)}),
				used("gpu-1", 0, placement.Holder{Gang: 0, GPUs: 8, Ranks: worker(8, 15, placement.Running)}),
				used("gpu-2", 1, placement.Holder{Gang: 2, GPUs: 2, Ranks: worker(0, 1, placement.Starting)},
					placement.Holder{Gang: 1, GPUs: 4, Ranks: append(worker(0, 2, placement.Running),
						worker(9, 9, placement.Running)...)},
					placement.Holder{Gang: -1, GPUs: 1}),
				used("gpu-3", 8),
			},
		}, {
			Kind: "NVIDIA-H100-80GB-HBM3", DomainKey: "example.com/rack", Domain: evil,
			Totals: placement.Totals{Nodes: 3, GPUs: 24, Used: 6, Free: 8, Unusable: 10},
			Nodes:  []placement.NodeUse{cordoned, used("gpu-5", 8), broken},
		}, {
			Kind:   "nvidia.com/mig-1g.10gb",
			Totals: placement.Totals{Nodes: 1, GPUs: 56, Used: 35, Other: 28, Free: 21},
			Nodes:  []placement.NodeUse{sliced},
		}},
		Totals: placement.Totals{Nodes: 9, GPUs: 112, Used: 64, Other: 29, Free: 38, Unusable: 10},
		Waiting: []placement.Waiting{
			{UID: "w1", Namespace: "team-b", Name: "gpt", Phase: v1alpha1.PhaseQueued, GPUs: 64, Created: noon,
				Reason: "NotEnoughGPUs"},
			{UID: "w2", Namespace: "team-a", Name: evil, Created: noon.Add(time.Hour)},
		},
	}
}

func links() Links {
	const base = "/board/clusters/prod"
	return Links{
		Job: func(namespace, name string) string {
			return base + "/namespaces/" + url.PathEscape(namespace) + "/jobs/" + url.PathEscape(name)
		},
		Waiting: base + "/jobs?phase=Queued", Queues: base + "/queues",
	}
}

// statusesOnly is the map of a user who may not list nodes.
func statusesOnly() placement.Map {
	m := placement.Map{
		HoldersKnown: true, Totals: placement.Totals{Nodes: 2},
		Gangs: []placement.Gang{gang("team-a", "llama-70b", 800, 100)},
		Groups: []placement.Group{{Totals: placement.Totals{Nodes: 2}, Nodes: []placement.NodeUse{
			{Name: "gpu-0", Holders: []placement.Holder{{Ranks: worker(0, 7, placement.Running)}}},
			{Name: "gpu-1", Holders: []placement.Holder{{}}},
		}}},
		Problems: []placement.Problem{{
			Detail: "You may not list the nodes of this cluster: the map shows only the nodes of your own jobs.",
			Remedy: "Ask an admin for the right to list nodes, to see the whole cluster.",
		}},
	}
	m.Gangs[0].More = true
	return m
}

func holdersUnknown() placement.Map {
	return placement.Map{
		NodesKnown: true, Totals: placement.Totals{Nodes: 1, GPUs: 8},
		Groups: []placement.Group{{Kind: "H100", Totals: placement.Totals{Nodes: 1, GPUs: 8},
			Nodes: []placement.NodeUse{{Name: "gpu-0", GPUs: 8}}}},
		Problems: []placement.Problem{{
			Detail: "The server may not list and watch the pods of cluster prod: who holds which GPU is unknown.",
			Remedy: "Ask an admin to grant its account there the rights in deploy/server/role.yaml.",
		}},
	}
}

// many nodes: 10,000 ranks on 1,250 nodes.
func many() placement.Map {
	m := placement.Map{NodesKnown: true, HoldersKnown: true}
	const perGang = 31
	for r := range 40 {
		g := placement.Group{
			Kind: "NVIDIA-H100-80GB-HBM3", DomainKey: "topology.kubernetes.io/zone",
			Domain: fmt.Sprintf("zone-%02d", r),
		}
		for n := r * 1250 / 40; n < (r+1)*1250/40; n++ {
			id := n / perGang
			if id == len(m.Gangs) {
				m.Gangs = append(m.Gangs, gang(fmt.Sprintf("team-%d", id%7), fmt.Sprintf("train-%02d", id), 0, 0))
			}
			m.Gangs[id].GPUs += 8
			m.Gangs[id].Nodes++
			from := int32(n % perGang * 8)
			g.Nodes = append(g.Nodes, placement.NodeUse{
				Name: fmt.Sprintf("gpu-%04d", n), GPUs: 8, Used: 8,
				Holders: []placement.Holder{{Gang: id, GPUs: 8, Ranks: worker(from, from+7, placement.Running)}},
			})
		}
		gpus := int64(8 * len(g.Nodes))
		g.Totals = placement.Totals{Nodes: len(g.Nodes), GPUs: gpus, Used: gpus}
		m.Totals.Nodes += g.Totals.Nodes
		m.Totals.GPUs += g.Totals.GPUs
		m.Totals.Used += g.Totals.Used
		m.Groups = append(m.Groups, g)
	}
	return m
}

// rendered page: its fragments, and its body with them.
func rendered(t testing.TB, v View) ([]fragment.Fragment, string) {
	t.Helper()
	all, err := v.Fragments()
	if err != nil {
		t.Fatal(err)
	}
	body, err := v.Body(all)
	if err != nil {
		t.Fatal(err)
	}
	return all, string(body)
}

// TestPages compares pages with golden files.
func TestPages(t *testing.T) {
	for name, v := range map[string]View{
		"small":           {Cluster: "prod", Map: small()},
		"table":           {Cluster: "prod", Map: small(), Query: Query{Table: true}},
		"node-and-gang":   {Cluster: "prod", Map: small(), Query: Query{Node: "gpu-2", Gang: "uid-bert"}},
		"one-kind":        {Cluster: "prod", Map: small(), Query: Query{Kind: "nvidia.com/mig-1g.10gb"}},
		"what-is-not":     {Cluster: evil, Map: small(), Query: Query{Node: "x", Gang: evil, Kind: evil}},
		"statuses":        {Cluster: "prod", Map: statusesOnly(), Query: Query{Node: "gpu-1"}},
		"statuses-table":  {Cluster: "prod", Map: statusesOnly(), Query: Query{Table: true}},
		"holders-unknown": {Cluster: "prod", Map: holdersUnknown()},
		"nothing":         {Cluster: "prod", Map: placement.Map{NodesKnown: true, HoldersKnown: true}},
		"nothing-of-mine": {Cluster: "prod"},
		"many":            {Cluster: "prod", Map: many()},
	} {
		v.Links = links()
		all, body := rendered(t, v)
		fragmenttest.Check(t, all)
		goldentest.Compare(t, name, body, palette.CSS+CSS)
		checkPlaces(t, name, all, body)
	}
}

// checkPlaces: each fragment is in the body, once.
func checkPlaces(t *testing.T, name string, all []fragment.Fragment, body string) {
	t.Helper()
	for _, f := range all {
		if strings.Count(body, string(f.Element())) != 1 {
			t.Errorf("%s: fragment %s is not in the page: there is no container %s", name, f.ID, f.In)
		}
	}
}

// TestNamesAreText: names are escaped.
func TestNamesAreText(t *testing.T) {
	for _, q := range []Query{{}, {Table: true}, {Gang: "uid-" + evil, Node: "gpu-2"}} {
		_, body := rendered(t, View{Cluster: evil, Map: small(), Query: q, Links: links()})
		if strings.Contains(body, "<script") || !strings.Contains(body, "&lt;script") {
			t.Errorf("%+v: the name is not text", q)
		}
	}
}

// TestManyNodes: the page of 10,000 ranks stays small.
func TestManyNodes(t *testing.T) {
	all, body := rendered(t, View{Cluster: "prod", Map: many(), Links: links()})
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	elements := 0
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			elements++
		}
	}
	const perNode = 5
	if most := 1250*perNode + 1000; elements > most {
		t.Errorf("the page has %d elements, want at most %d", elements, most)
	}
	if len(body) > 1_200_000 {
		t.Errorf("the page has %d bytes", len(body))
	}
	m := many()
	m.Groups[20].Nodes[3].Holders[0].Ranks[2].State = placement.Ending
	now, _ := rendered(t, View{Cluster: "prod", Map: m, Links: links()})
	patch, _ := fragment.Diff(fragment.StateOf(all), now)
	if len(patch.Set) != 1 || len(patch.Order)+len(patch.Move) > 0 {
		t.Errorf("a rank that ends changes %d elements and the order of %d containers", len(patch.Set),
			len(patch.Order)+len(patch.Move))
	}
}

// TestRanks: ranks in words.
func TestRanks(t *testing.T) {
	for want, all := range map[string][]placement.Rank{
		"":                      nil,
		"worker 3":              worker(3, 3, placement.Running),
		"worker 0–7":            worker(0, 7, placement.Running),
		"worker 0–2, 5, 7–8":    slices.Concat(worker(0, 2, ""), worker(5, 5, ""), worker(7, 8, "")),
		"worker 0–1 (starting)": worker(0, 1, placement.Starting),
		"worker 0; worker 1–2 (ending); worker 3": slices.Concat(worker(0, 0, placement.Running),
			worker(1, 2, placement.Ending), worker(3, 3, placement.Running)),
		"ps 0; worker 0–1": append([]placement.Rank{{Role: "ps", State: placement.Running}},
			worker(0, 1, placement.Running)...),
		"worker 0, 2 (ending)": append(worker(0, 0, placement.Ending), worker(2, 2, placement.Ending)...),
	} {
		if got := ranks(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}

// TestNumbers: numbers in words.
func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000",
	} {
		if got := number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestQueries: the URL of a query parses to the same query, and errors name the parameter.
func TestQueries(t *testing.T) {
	for _, q := range []Query{
		{}, {Node: "gpu-1", Gang: "uid", Kind: "a/b c", Table: true}, {Kind: evil},
	} {
		values, err := url.ParseQuery(strings.TrimPrefix(q.URL(), "?"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseQuery(values); err != nil || got != q {
			t.Errorf("%+v becomes %+v, %v", q, got, err)
		}
	}
	for query, parameter := range map[string]string{
		"view=list": "query.view", "node=a&node=b": "query.node", "x=1": "query.x",
		"gang=" + strings.Repeat("g", 254): "query.gang",
	} {
		values, _ := url.ParseQuery(query)
		if _, err := ParseQuery(values); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), parameter) {
			t.Errorf("%s: %+v", query, err)
		}
	}
}

// TestTilesAreKept: pages are the same with and without the cache, whatever changes in a node.
func TestTilesAreKept(t *testing.T) {
	kept := &Tiles{}
	changes := map[string]func(*placement.NodeUse){
		"nothing":        func(*placement.NodeUse) {},
		"a free GPU":     func(n *placement.NodeUse) { n.Free++ },
		"more GPUs":      func(n *placement.NodeUse) { n.GPUs++ },
		"used":           func(n *placement.NodeUse) { n.Used++ },
		"unusable":       func(n *placement.NodeUse) { n.Unusable++ },
		"a reason":       func(n *placement.NodeUse) { n.Reasons = []placement.Reason{placement.NotReady} },
		"a reason more":  func(n *placement.NodeUse) { n.Reasons = []placement.Reason{placement.NotReady, "Gone"} },
		"no holder":      func(n *placement.NodeUse) { n.Holders = nil },
		"another gang":   func(n *placement.NodeUse) { n.Holders[0].Gang = 0 },
		"a hidden gang":  func(n *placement.NodeUse) { n.Holders[0].Gang = -1 },
		"its GPUs":       func(n *placement.NodeUse) { n.Holders[1].GPUs++ },
		"a rank less":    func(n *placement.NodeUse) { n.Holders[0].Ranks = n.Holders[0].Ranks[:1] },
		"a rank's index": func(n *placement.NodeUse) { n.Holders[0].Ranks[1].Index = 9 },
		"a rank's state": func(n *placement.NodeUse) { n.Holders[0].Ranks[1].State = placement.Ending },
		"a rank's role":  func(n *placement.NodeUse) { n.Holders[0].Ranks[1].Role = "ps" },
	}
	for name, change := range changes {
		for _, q := range []Query{
			{}, {Gang: "uid-bert"}, {Gang: "uid-x"}, {Node: "gpu-2"}, {Kind: "NVIDIA-H100-80GB-HBM3"},
		} {
			for _, known := range []bool{true, false} {
				v := View{Cluster: "prod", Map: small(), Query: q, Links: links()}
				change(&v.Map.Groups[1].Nodes[2])
				v.Map.HoldersKnown, v.Map.NodesKnown = known, known || q.Node == ""
				_, want := rendered(t, v)
				v.Tiles = kept
				for range 2 {
					if _, got := rendered(t, v); got != want {
						t.Errorf("%s, %+v, known %v: another page is kept", name, q, known)
					}
				}
			}
		}
	}
	v := View{Cluster: "prod", Map: small(), Links: links()}
	v.Map.Totals.Nodes = manyNodes + 1
	_, want := rendered(t, v)
	v.Tiles = kept
	if _, got := rendered(t, v); got != want {
		t.Error("large tiles are kept where there are many nodes")
	}
}

// BenchmarkMany renders the page of 10,000 ranks.
func BenchmarkMany(b *testing.B) {
	for name, tiles := range map[string]*Tiles{"without cache": nil, "with cache": {}} {
		b.Run(name, func(b *testing.B) { benchmarkMany(b, tiles) })
	}
}

func benchmarkMany(b *testing.B, tiles *Tiles) {
	v := View{Cluster: "prod", Map: many(), Links: links(), Tiles: tiles}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Fragments(); err != nil {
			b.Fatal(err)
		}
	}
}
