package sim

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// Defaults of what admins will set, and how long a gang may be made to wait for the saves of others.
var (
	Defaults = preemption.Policy{
		MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute,
		Heartbeat: 10 * time.Second, Patience: 2 * time.Second, MaxPlans: 8, MaxRounds: 3,
		Placing: 30 * time.Second,
	}
	MaxDelay = 2 * time.Minute
)

// Names of the planner's ways.
const (
	CheapestFirst = "cheapest first"
	AskedToSave   = "cheapest first, asked to save"
)

// Ways that are compared; the first is what the others are compared with.
func Ways() []Way {
	return []Way{
		{Name: "youngest first", Order: Youngest},
		{Name: "random", Order: Random},
		{Name: "Kueue", Order: Kueue},
		{Name: "Kubernetes' own gangs", Order: Native},
		{Name: "Volcano", Order: Volcano},
		{Name: "coscheduling", Order: Coscheduling},
		{Name: CheapestFirst, Order: Youngest, Policy: &Defaults},
		{Name: AskedToSave, Order: Youngest, Policy: &Defaults, MaxDelay: MaxDelay},
	}
}

// Comparison of ways on one shape.
type Comparison struct {
	Shape Shape
	Seeds int
	Lines []Line
	// Noise is what the first way differs by from itself, in lost work and in all waste, where each gang comes
	// up to a second later.
	Noise, WasteNoise stats.Noise
}

// Sweep plays all ways on one shape, with the gangs of each seed.
func Sweep(s Shape, gangs func(seed uint64) []Job, ways []Way, seeds int) Comparison {
	again := append(slices.Clone(ways), ways[0])
	results := make([][]Result, len(again))
	for i := range results {
		results[i] = make([]Result, seeds)
	}
	limit, all := make(chan struct{}, runtime.GOMAXPROCS(0)), sync.WaitGroup{}
	for seed := range seeds {
		jobs := gangs(uint64(seed))
		for i, way := range again {
			limit <- struct{}{}
			all.Go(func() {
				played := jobs
				if i == len(ways) {
					played = jittered(jobs, uint64(seed))
				}
				results[i][seed] = Play(s, played, way, uint64(seed))
				<-limit
			})
		}
	}
	all.Wait()
	c := Comparison{Shape: s, Seeds: seeds}
	for i, way := range ways {
		c.Lines = append(c.Lines, compare(s, way, results[i], results[0]))
	}
	itself := compare(s, ways[0], results[len(ways)], results[0])
	c.Noise, c.WasteNoise = stats.NoiseFloor(itself.lost), stats.NoiseFloor(itself.waste)
	return c
}

// jittered gangs come up to a second later.
func jittered(jobs []Job, seed uint64) []Job {
	r := rand.New(rand.NewPCG(seed, 6))
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Arrives += time.Duration(r.Float64() * float64(time.Second))
	}
	return jobs
}
