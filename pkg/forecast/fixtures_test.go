package forecast

import (
	"fmt"
	"math/rand/v2"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// gpus are amounts of the first resource.
func gpus(n int64) Amounts { return Amounts{n} }

// allOf is the set of all nodes.
func allOf(n int) []int32 {
	set := make([]int32, n)
	for i := range set {
		set[i] = int32(i)
	}
	return set
}

func hours(h float64) Length {
	d := time.Duration(h * float64(time.Hour))
	return Length{Time: d, Low: d * 9 / 10, Basis: BasisSteps}
}

// sure is a length without any doubt.
func sure(h float64) Length {
	l := hours(h)
	l.Low = l.Time
	return l
}

// allHeld are the hits of kinds that are calibrated.
func allHeld() map[Kind]Hits {
	all := map[Kind]Hits{}
	for _, place := range []Positions{PositionFirst, PositionNear, PositionFar, PositionLast} {
		all[Kind{Positions: place}] = Hits{40, 40}
	}
	return all
}

var endless = Length{Low: time.Minute, Missing: MissingReports}

// running is a gang with 8 GPUs on each of some nodes.
func running(name string, l Length, nodes ...int32) Gang {
	g := Gang{Namespace: "team", Name: name, GPUs: int64(8 * len(nodes)), Length: l, Running: true}
	for _, n := range nodes {
		g.Holds = append(g.Holds, Hold{n, gpus(8)})
	}
	return g
}

// waiting is a gang of ranks with 8 GPUs each.
func waiting(name string, age int, l Length, ranks int64) Gang {
	return Gang{
		Namespace: "team", Name: name, GPUs: 8 * ranks, Length: l,
		Since: start.Add(-time.Duration(age) * time.Minute),
		Needs: []Need{{Ranks: ranks, Requests: gpus(8)}},
	}
}

// full is a cluster of nodes without free GPUs and one lane.
func full(nodes int, gangs ...Gang) *Snapshot {
	return &Snapshot{
		Now: start, Nodes: make([]Amounts, nodes), Sets: [][]int32{allOf(nodes)}, Lanes: []Lane{{}}, Gangs: gangs,
		Hits: allHeld(),
	}
}

var limits = Limits{Horizon: 1000 * time.Hour, Considered: 256, Samples: MinSamples}

// randomSnapshot has up to 12 nodes of two resources, two sets, lanes and quotas, and 30 gangs.
func randomSnapshot(r *rand.Rand) *Snapshot {
	n := 2 + r.IntN(11)
	s := &Snapshot{
		Now: start, Sets: [][]int32{allOf(n), allOf(n)[:1+r.IntN(n)]},
		Lanes: []Lane{{Strict: r.IntN(2) == 0, Spread: 0.3}, {Strict: r.IntN(2) == 0}}, Hits: allHeld(),
		Quotas: []Quota{
			{Name: "a", Free: Amounts{r.Int64N(30)}, Limited: [MaxResources]bool{true}},
			{Name: "b", Free: Amounts{r.Int64N(60), 5}, Limited: [MaxResources]bool{true, true}},
		},
	}
	for range n {
		s.Nodes = append(s.Nodes, Amounts{8, 16})
	}
	for i := range r.IntN(30) {
		s.Gangs = append(s.Gangs, randomGang(r, s, fmt.Sprintf("g%d", i)))
	}
	return s
}

func randomGang(r *rand.Rand, s *Snapshot, name string) Gang {
	g := Gang{
		Namespace: []string{"team", "other"}[r.IntN(2)], Name: name, Lane: r.IntN(2), Value: int32(r.IntN(3)),
		Since: start.Add(-time.Duration(r.IntN(1000)) * time.Second),
	}
	if r.IntN(4) == 0 {
		g.Length = Length{Low: time.Duration(r.IntN(500)) * time.Minute, Missing: MissingReports}
	} else {
		g.Length = hours(float64(r.IntN(40)) / 2)
		g.Length.Basis = []Basis{BasisSteps, BasisSimilar}[r.IntN(2)]
		if r.IntN(4) == 0 {
			g.Length.Most = g.Length.Time * 11 / 10
		}
	}
	one, ranks := Amounts{1 + r.Int64N(8), r.Int64N(4)}, 1+r.Int64N(4)
	g.GPUs = one[0] * ranks
	if r.IntN(3) == 0 {
		g.Uses = []Use{{r.IntN(2), Amounts{g.GPUs}}}
	}
	if g.Running = r.IntN(2) == 0; !g.Running {
		g.Needs, g.Admitted = []Need{{ranks, one, r.IntN(2)}}, r.IntN(8) == 0
		if r.IntN(4) == 0 {
			g.Needs = append(g.Needs, Need{1, Amounts{1, 1}, r.IntN(2)})
		}
		return g
	}
	for range ranks {
		node := int32(r.IntN(len(s.Nodes)))
		if s.Nodes[node][0] >= one[0] && s.Nodes[node][1] >= one[1] {
			s.Nodes[node][0] -= one[0]
			s.Nodes[node][1] -= one[1]
			g.Holds = append(g.Holds, Hold{node, one})
		}
	}
	return g
}
