package forecast

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seeds of the random snapshots.
const seeds = 300

// forecastsOfSeeds has the forecast of each random snapshot.
var forecastsOfSeeds = sync.OnceValue(func() (all [seeds][]Start) {
	for seed := range all {
		all[seed] = Forecast(randomSnapshot(randomOf(seed)), limits)
	}
	return all
})

func randomOf(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 47)) }

// eachRandom calls a test with random snapshots, each with its forecast.
func eachRandom(t *testing.T, test func(t *testing.T, r *rand.Rand, s *Snapshot, starts []Start)) {
	t.Helper()
	timed := 0
	for seed, starts := range forecastsOfSeeds() {
		r := randomOf(seed)
		s := randomSnapshot(r)
		for i := range starts {
			if !starts[i].Time.IsZero() && starts[i].Time != s.Now {
				timed++
			}
		}
		test(t, r, s, starts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if timed < seeds/2 {
		t.Errorf("only %d starts have a time after now: the snapshots test nothing", timed)
	}
}

// TestPlayEqualsNaivePlay compares with a play that looks at every gang and node after every end.
func TestPlayEqualsNaivePlay(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *Snapshot, _ []Start) {
		want, q := naive(s), newQueue(s)
		p := newLikely(s, q, limits)
		p.run()
		for place, at := range p.started {
			naively, starts := want[q.order[place]]
			if starts != (at != never) || starts && at != naively {
				t.Errorf("%s starts after %v, in the naive play after %v (%t)",
					s.Gangs[q.order[place]].Name, at, naively, starts)
			}
		}
	})
}

// TestNoNameOfAnotherNamespace: a tenant does not learn what others run.
func TestNoNameOfAnotherNamespace(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *Snapshot, starts []Start) {
		namespaces := map[string]string{}
		for i := range s.Gangs {
			namespaces[s.Gangs[i].Name] = s.Gangs[i].Namespace
		}
		for _, start := range starts {
			for _, b := range start.Behind {
				if b.What != QuotaFree && b.Name != "" && namespaces[b.Name] != s.Gangs[start.Gang].Namespace {
					t.Errorf("the start of %s names %s", s.Gangs[start.Gang].Name, b.Name)
				}
			}
			if len(start.Behind) > MaxBehind {
				t.Errorf("%d things are named, more than %d", len(start.Behind), MaxBehind)
			}
		}
	})
}

// TestSameSnapshotSameForecast: also if the gangs come in another order.
func TestSameSnapshotSameForecast(t *testing.T) {
	eachRandom(t, func(t *testing.T, r *rand.Rand, s *Snapshot, starts []Start) {
		if diff := cmp.Diff(starts, Forecast(s, limits)); diff != "" {
			t.Errorf("the second forecast differs: %s", diff)
		}
		shuffled := *s
		shuffled.Gangs = slices.Clone(s.Gangs)
		r.Shuffle(len(s.Gangs), func(i, j int) {
			shuffled.Gangs[i], shuffled.Gangs[j] = shuffled.Gangs[j], shuffled.Gangs[i]
		})
		for i, start := range Forecast(&shuffled, limits) {
			if shuffled.Gangs[start.Gang].Name != s.Gangs[starts[i].Gang].Name || start.Time != starts[i].Time ||
				start.Earliest != starts[i].Earliest || start.Latest != starts[i].Latest {
				t.Errorf("in another order of the gangs, start %d is %+v, was %+v", i, start, starts[i])
			}
		}
	})
}

// TestTimesAreInOrder: earliest <= time <= latest, time <= end, and none lies in the past.
func TestTimesAreInOrder(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *Snapshot, starts []Start) {
		for _, start := range starts {
			inOrder := !start.Earliest.Before(s.Now) && !start.Time.Before(start.Earliest) &&
				!start.Latest.Before(start.Time)
			if known := !start.Time.IsZero(); known && !inOrder || known == start.Latest.IsZero() ||
				!start.Earliest.IsZero() && start.Earliest.Before(s.Now) ||
				!start.End.IsZero() && start.End.Before(start.Time) {
				t.Errorf("the times are not in order: %+v", start)
			}
			if start.Time.IsZero() != (start.Unknown != "") {
				t.Errorf("a start has either a time or a reason: %+v", start)
			}
			if g := start.Given; g != nil && g.Latest.Before(g.Earliest.Add(resolution)) {
				t.Errorf("no start can be seen to be in the interval: %+v", g)
			}
		}
	})
}

// TestNoTimeDependsOnAnUnknownEnd: pods that never end stand for the gangs without an end. All times stay.
func TestNoTimeDependsOnAnUnknownEnd(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *Snapshot, starts []Start) {
		without := *s
		without.Gangs = slices.Clone(s.Gangs)
		for i := range without.Gangs {
			if g := &without.Gangs[i]; g.Running && !g.Length.Known() {
				g.Holds, g.Uses = nil, nil // what they hold is missing from the free amounts already
			}
		}
		for i, start := range Forecast(&without, limits) {
			if start.Time != starts[i].Time || start.Latest != starts[i].Latest {
				t.Errorf("%s starts at %v, but at %v if gangs without an end are other pods",
					s.Gangs[start.Gang].Name, starts[i].Time, start.Time)
			}
		}
	})
}

// TestNoTimeDependsOnALengthThatIsUnknown: gangs without an end end after the horizon. All times stay, and no
// other gang gets one.
func TestNoTimeDependsOnALengthThatIsUnknown(t *testing.T) {
	eachRandom(t, func(t *testing.T, _ *rand.Rand, s *Snapshot, starts []Start) {
		late := *s
		late.Gangs = slices.Clone(s.Gangs)
		for i := range late.Gangs {
			if g := &late.Gangs[i]; !g.Length.Known() {
				g.Length = Length{Time: maxLength, Low: g.Length.Low}
			}
		}
		for i, start := range Forecast(&late, limits) {
			if start.Time != starts[i].Time || start.Earliest != starts[i].Earliest ||
				start.Latest != starts[i].Latest {
				t.Errorf("%s: %+v, if unknown ends are late %+v", s.Gangs[start.Gang].Name, starts[i], start)
			}
		}
	})
}

// naive returns when gangs start, by index.
func naive(s *Snapshot) map[int]time.Duration {
	n := &naivePlay{Snapshot: s, nodes: slices.Clone(s.Nodes), starts: map[int]time.Duration{}}
	for i := range s.Quotas {
		n.quotas = append(n.quotas, s.Quotas[i].Free)
	}
	var order []int
	for i := range s.Gangs {
		if !s.Gangs[i].Running {
			order = append(order, i)
		} else if g := &s.Gangs[i]; g.Length.Known() {
			n.runs = append(n.runs, end{g.Length.Time, i, g.Holds})
		}
	}
	slices.SortFunc(order, s.compare)
	for at := time.Duration(0); ; {
		stopped := map[int]bool{}
		for _, i := range order {
			g := &s.Gangs[i]
			if _, began := n.starts[i]; !began && !stopped[g.Lane] && !n.begin(i, at) {
				stopped[g.Lane] = s.Lanes[g.Lane].Strict
			}
		}
		if len(n.runs) == 0 {
			return n.starts
		}
		at = slices.MinFunc(n.runs, func(a, b end) int { return int(a.at - b.at) }).at
		n.runs = slices.DeleteFunc(n.runs, func(e end) bool {
			if e.at == at {
				n.change(e.holds, s.Gangs[e.gang].Uses, 1)
			}
			return e.at == at
		})
	}
}

type naivePlay struct {
	*Snapshot
	nodes, quotas []Amounts
	runs          []end
	starts        map[int]time.Duration
}

func (n *naivePlay) change(holds []Hold, uses []Use, sign int64) {
	for _, h := range holds {
		for r := range h.Amounts {
			n.nodes[h.Node][r] += sign * h.Amounts[r]
		}
	}
	for _, u := range uses {
		for r := range u.Amounts {
			n.quotas[u.Quota][r] += sign * u.Amounts[r]
		}
	}
}

// ranksOn returns how many ranks fit on a node.
func (n *naivePlay) ranksOn(node int32, requests Amounts) (ranks int64) {
	for left := n.nodes[node]; ; ranks++ {
		for r, amount := range requests {
			if left[r] -= amount; left[r] < 0 && amount > 0 {
				return ranks
			}
		}
	}
}

func (n *naivePlay) begin(i int, at time.Duration) bool {
	g := &n.Gangs[i]
	for _, u := range g.Uses {
		for r, amount := range u.Amounts {
			if !g.Admitted && n.Quotas[u.Quota].Limited[r] && amount > 0 && n.quotas[u.Quota][r] < amount {
				return false
			}
		}
	}
	var holds []Hold
	for _, need := range g.Needs {
		left := need.Ranks
		nodes := slices.Clone(n.Sets[need.Set])
		slices.SortStableFunc(nodes, func(a, b int32) int {
			return int(n.ranksOn(a, need.Requests) - n.ranksOn(b, need.Requests))
		})
		for _, node := range nodes {
			for ; left > 0 && n.ranksOn(node, need.Requests) > 0; left-- {
				h := []Hold{{node, need.Requests}}
				n.change(h, nil, -1)
				holds = append(holds, h...)
			}
		}
		if left > 0 {
			n.change(holds, nil, 1)
			return false
		}
	}
	if !g.Admitted {
		n.change(nil, g.Uses, -1)
	}
	n.starts[i] = at
	if g.Length.Known() {
		n.runs = append(n.runs, end{at + g.Length.Time, i, holds})
	}
	return true
}
