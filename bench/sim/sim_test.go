package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// busy is a cluster with a little more work than it has GPUs for.
var busy = Shape{
	Nodes: 32, GPUsPerNode: 8, For: 72 * time.Hour, Load: 1.1, High: 0.25, Interval: 30 * time.Minute,
	Save: 30 * time.Second, Start: 2 * time.Minute, Cooperation: 1,
}

var (
	cheapest = Way{Name: "cheapest", Order: Youngest, Policy: &Defaults}
	asked    = Way{Name: "asked", Order: Youngest, Policy: &Defaults, MaxDelay: MaxDelay}
	stock    = []Way{
		{Name: "random", Order: Random}, {Name: "youngest", Order: Youngest}, {Name: "kueue", Order: Kueue},
		{Name: "native", Order: Native},
		{Name: "volcano", Order: Volcano}, {Name: "coscheduling", Order: Coscheduling},
	}
)

const seeds = 10

// total of a way over all seeds.
func total(t *testing.T, s Shape, way Way) (sum Result) {
	t.Helper()
	sum.Waits, sum.Completions = map[int32][]time.Duration{}, map[int32][]time.Duration{}
	for seed := range uint64(seeds) {
		r := Play(s, Generate(s, seed), way, seed)
		sum.Lost, sum.Restart, sum.Idle = sum.Lost+r.Lost, sum.Restart+r.Restart, sum.Idle+r.Idle
		sum.Preemptions += r.Preemptions
		sum.Asked, sum.Plans = sum.Asked+r.Asked, sum.Plans+r.Plans
		sum.HandedOver += r.HandedOver
		for _, value := range []int32{Low, High} {
			sum.Waits[value] = append(sum.Waits[value], r.Waits[value]...)
			sum.Completions[value] = append(sum.Completions[value], r.Completions[value]...)
		}
	}
	t.Logf("%-12s lost %.0f GPUh, restarts %.0f, idle %.0f; %d preemptions, %d asked, %d plans, %d handed "+
		"over; high waits %s, max %s; low takes %s", way.Name, sum.Lost.Hours(), sum.Restart.Hours(),
		sum.Idle.Hours(), sum.Preemptions, sum.Asked, sum.Plans, sum.HandedOver,
		Mean(sum.Waits[High]).Round(time.Second), slices.Max(sum.Waits[High]).Round(time.Second),
		Mean(sum.Completions[Low]).Round(time.Minute))
	return sum
}

// TestTargets are those of the design, against who was admitted last being taken first.
func TestTargets(t *testing.T) {
	lost := map[string]float64{}
	var base, brokered Result
	for _, way := range append(stock, cheapest, asked) {
		r := total(t, busy, way)
		lost[way.Name] = r.Lost.Hours()
		switch way.Name {
		case "youngest":
			base = r
		case "asked":
			brokered = r
		}
	}
	if ratio := lost["cheapest"] / lost["youngest"]; ratio > 0.5 {
		t.Errorf("the cheapest lose %.2f of what the youngest lose, want at most 0.5", ratio)
	}
	if ratio := lost["asked"] / lost["youngest"]; ratio > 0.1 {
		t.Errorf("those that are asked lose %.2f of what the youngest lose, want at most 0.1", ratio)
	}
	if ratio := brokered.Waste().Hours() / base.Waste().Hours(); ratio > 0.4 {
		t.Errorf("in all %.2f is wasted, want at most 0.4", ratio)
	}
	added := Mean(brokered.Waits[High]) - Mean(base.Waits[High])
	if most := busy.Save + 15*time.Second; added > most {
		t.Errorf("urgent gangs wait %s longer, want at most %s", added, most)
	}
}

// TestTheSameAgain: the same seed gives the same result, and every gang trains to its end.
func TestTheSameAgain(t *testing.T) {
	jobs := Generate(busy, 1)
	for _, way := range append(stock, cheapest, asked) {
		first, second := Play(busy, jobs, way, 1), Play(busy, jobs, way, 1)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: %s", way.Name, diff)
		}
		if n := len(first.Completions[Low]) + len(first.Completions[High]); n != len(jobs) {
			t.Errorf("%s: %d of %d gangs finished", way.Name, n, len(jobs))
		}
	}
}

// TestOfEquals: of so many gangs alike, each on a node of its own and saved at a random time, the cheapest
// lose what the order statistics of a uniform distribution say: V of k lose (V+1)/(k+1) of what as many at
// random do.
func TestOfEquals(t *testing.T) {
	const k, victims, rounds = 15, 3, 4000
	s := Shape{Nodes: k, GPUsPerNode: 8}
	var cheap, random time.Duration
	for seed := range uint64(rounds) {
		var jobs []Job
		r := rand.New(rand.NewPCG(seed, 3))
		for i := range k {
			jobs = append(jobs, Job{ID: i, Ranks: 1, GPUs: 8, Work: 100 * time.Hour, Interval: time.Hour,
				Save: time.Nanosecond, Arrives: time.Duration(r.Float64() * float64(time.Hour))})
		}
		jobs = append(jobs, Job{ID: k, Ranks: victims, GPUs: 8, Work: time.Minute, Interval: time.Hour,
			Save: time.Nanosecond, Value: High, Arrives: 10 * time.Hour})
		alike := Defaults
		alike.MinRun, alike.UnknownStart = 0, 0
		cheap += Play(s, jobs, Way{Order: Youngest, Policy: &alike}, seed).Lost
		random += Play(s, jobs, Way{Order: Random}, seed).Lost
	}
	got, want := cheap.Hours()/random.Hours(), float64(victims+1)/(k+1)
	t.Logf("%.3f, and %.3f by theory", got, want)
	if math.Abs(got/want-1) > 0.05 {
		t.Errorf("the cheapest lose %.3f of what random ones do, want %.3f", got, want)
	}
}

// TestIdle: GPUs are idle while a victim saves, and from its end until the preemptor has all of its GPUs.
func TestIdle(t *testing.T) {
	low := func(id int, save time.Duration) Job {
		return Job{ID: id, Ranks: 1, GPUs: 8, Work: 10 * time.Hour, Interval: time.Hour, Save: save,
			SavesAtEnd: true}
	}
	jobs := []Job{low(0, 10*time.Second), low(1, 30*time.Second), {
		ID: 2, Ranks: 2, GPUs: 8, Work: time.Minute, Interval: time.Hour, Save: time.Second, Value: High,
		Arrives: time.Hour,
	}}
	r := Play(Shape{Nodes: 2, GPUsPerNode: 8}, jobs, Way{Order: Youngest}, 1)
	// Saves of 10 s and 30 s, and the first one's GPUs wait for 20 s.
	if want := 8 * (10 + 30 + 20) * time.Second; r.Idle != want || r.Preemptions != 2 {
		t.Errorf("%s idle after %d preemptions, want %s after 2", r.Idle, r.Preemptions, want)
	}
}

// TestNodesHoldWhatTheyHave: no order places more on a node than it has, and all is free in the end.
func TestNodesHoldWhatTheyHave(t *testing.T) {
	for _, way := range append(stock, cheapest, asked) {
		p := newSimulation(busy, Generate(busy, 2), way, 2)
		for p.step() {
			for i, free := range p.free {
				if free < 0 || free > busy.GPUsPerNode {
					t.Fatalf("%s: node %d has %d GPUs free", way.Name, i, free)
				}
			}
		}
		if p.free.place(busy.Nodes, busy.GPUsPerNode) == nil || len(p.plans)+len(p.ending) > 0 {
			t.Errorf("%s: in the end %v are free, %d plans, %d that end", way.Name, p.free, len(p.plans),
				len(p.ending))
		}
	}
}
