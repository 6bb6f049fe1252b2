package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// synthetic results look like those of a real benchmark: gangs wait for GPUs, nodes fail, a slow stack is
// cut. They depend on nothing but the seed.
type synthetic struct {
	stacks    []stackModel
	workloads []workloadModel
	rounds    int
}

// stackModel is how a stack behaves.
type stackModel struct {
	result.Stack
	// rate of gangs that are created, and admitted, per second.
	rate float64
	// byPriority and backfill are how it chooses the next gang.
	byPriority, backfill bool
	// resume is the seconds after which an interrupted gang queues again.
	resume float64
	// holds is the share of GPUs that incomplete gangs hold while gangs are bound.
	holds float64
	// writes per gang by client, then by verb and resource.
	writes map[string]map[string]int
}

type workloadModel struct {
	result.Workload
	step, cut float64
	// every is the seconds between two arrivals, train how long gangs train, 0 for ever.
	every, train float64
	// saved is the interval of checkpoints and failing are the seconds at which a tenth of the gangs fail.
	saved   float64
	failing []float64
}

func (s synthetic) results() result.Results {
	r := result.Results{Version: result.Version, Rounds: s.rounds, Machine: result.Machine{
		Processors: 16, CPU: "Example CPU 3.0 GHz", MemoryBytes: 64 << 30, Kernel: "6.12.0", Go: "go1.26.8",
		Commit: "0123abc+",
	}}
	for _, m := range s.stacks {
		r.Stacks = append(r.Stacks, m.Stack)
	}
	random := rand.New(rand.NewPCG(7, 11))
	began := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	for _, w := range s.workloads {
		r.Workloads = append(r.Workloads, w.Workload)
	}
	for round := 1; round <= s.rounds; round++ {
		for _, w := range s.workloads {
			for i, m := range s.stacks {
				for repeat := range 2 {
					if repeat == 1 && i != 0 {
						continue
					}
					run := play(w, m, random)
					run.Round, run.Repeat, run.Began = round, repeat, began
					began = began.Add(time.Duration(run.Seconds+20) * time.Second)
					r.Runs = append(r.Runs, run)
				}
			}
		}
	}
	return r
}

// player of one run.
type player struct {
	w              workloadModel
	m              stackModel
	random         *rand.Rand
	gangs          []result.Gang
	ready          []float64 // when a gang may queue (again)
	trained, saved []float64
	training       []bool
	tokens         float64
	run            result.Run
}

func play(w workloadModel, m stackModel, random *rand.Rand) result.Run {
	m.rate *= math.Exp(0.04 * random.NormFloat64())
	p := &player{w: w, m: m, random: random, run: result.Run{Stack: m.Name, Workload: w.Name}}
	sizes := rand.New(rand.NewPCG(1, uint64(w.Gangs)))
	for i := range w.Gangs {
		priority := workload.PriorityNormal
		if w.train > 0 {
			priority = priorities[min(2, sizes.IntN(5))]
		}
		g := result.Gang{
			Name: fmt.Sprintf("gang-%d", i), Ranks: w.Ranks / w.Gangs, GPUs: 8, Priority: priority,
			Submitted: float64(i) * w.every, Admitted: -1, Created: -1, Bound: -1, Running: -1, Finished: -1,
		}
		if w.train > 0 {
			g.Ranks = 1 + sizes.IntN(2*g.Ranks)
		}
		p.gangs, p.ready = append(p.gangs, g), append(p.ready, g.Submitted+1/m.rate)
		p.trained, p.saved = append(p.trained, 0), append(p.saved, 0)
		p.training = append(p.training, false)
	}
	now := 0.0
	for ; !p.over(); now += w.step {
		if now >= w.cut {
			p.run.CutAfter = w.cut
			break
		}
		p.tick(now)
	}
	p.run.Seconds, p.run.Gangs = now, p.gangs
	p.costs()
	return p.run
}

func (p *player) over() bool {
	return !slices.ContainsFunc(p.gangs, func(g result.Gang) bool {
		return g.Running < 0 || p.w.End == workload.EndFinished && g.Finished < 0
	})
}

func (p *player) tick(now float64) {
	created := int(now * p.m.rate * 1.5)
	for i := range p.gangs {
		g := &p.gangs[i]
		if g.Created < 0 && i < created && now >= g.Submitted {
			g.Created = now
		}
		if p.training[i] {
			p.train(i, now)
		}
	}
	for _, at := range p.w.failing {
		if at <= now && now < at+p.w.step {
			p.fail(now)
		}
	}
	p.admit(now)
	p.sample(now)
}

func (p *player) train(i int, now float64) {
	g := &p.gangs[i]
	p.trained[i] += p.w.step
	p.run.BusyGPUSeconds += p.w.step * float64(g.Ranks*g.GPUs)
	if p.w.saved > 0 && p.trained[i]-p.saved[i] >= p.w.saved {
		p.saved[i] = p.trained[i]
	}
	if p.w.train > 0 && p.trained[i] >= p.w.train*float64(1+i%4) {
		g.Finished, p.training[i] = now, false
	}
}

func (p *player) fail(now float64) {
	for i := range p.gangs {
		if p.training[i] && p.random.IntN(5) == 0 {
			g := &p.gangs[i]
			p.training[i] = false
			p.ready[i] = now + p.m.resume*math.Exp(0.3*p.random.NormFloat64())
			g.Interruptions++
			g.LostSeconds += p.trained[i] - p.saved[i]
			p.run.LostGPUSeconds += (p.trained[i] - p.saved[i]) * float64(g.Ranks*g.GPUs)
			p.trained[i] = p.saved[i]
		}
	}
}

func (p *player) free() int {
	n := p.w.GPUs
	for i, g := range p.gangs {
		if p.training[i] {
			n -= g.Ranks * g.GPUs
		}
	}
	return n
}

func (p *player) admit(now float64) {
	var waiting []int
	for i, g := range p.gangs {
		if !p.training[i] && g.Finished < 0 && g.Created >= 0 && p.ready[i] <= now {
			waiting = append(waiting, i)
		}
	}
	if p.m.byPriority {
		slices.SortStableFunc(waiting, func(a, b int) int {
			return cmp.Compare(p.gangs[b].Priority.Value(), p.gangs[a].Priority.Value())
		})
	}
	free := p.free()
	p.tokens = min(p.tokens+p.m.rate*p.w.step, 4*max(1, p.m.rate*p.w.step))
	for n, i := range waiting {
		g := &p.gangs[i]
		if g.Ranks*g.GPUs > free {
			if p.m.backfill {
				continue
			}
			return
		}
		if p.tokens < 1 {
			return
		}
		p.tokens--
		free -= g.Ranks * g.GPUs
		p.start(i, now)
		for _, other := range waiting[n+1:] {
			if p.gangs[other].Priority.Value() > g.Priority.Value() && p.gangs[other].Ranks <= g.Ranks {
				p.run.Inversions++
				break
			}
		}
	}
}

func (p *player) start(i int, now float64) {
	g := &p.gangs[i]
	p.training[i] = true
	if g.Bound < 0 {
		jitter := math.Exp(0.5 * p.random.NormFloat64())
		g.Admitted = now
		g.Bound = now + 0.3*jitter
		g.Running = g.Bound + 0.2
	} else {
		g.Resumes = append(g.Resumes, now-p.ready[i]+p.m.resume)
	}
}

func (p *player) sample(now float64) {
	c, held := &p.run.Curves, 0
	reached := func(at func(result.Gang) float64) int {
		n := 0
		for _, g := range p.gangs {
			if t := at(g); t >= 0 && t <= now {
				n++
			}
		}
		return n
	}
	training := 0
	for _, t := range p.training {
		if t {
			training++
		}
	}
	busy := p.w.GPUs - p.free()
	if bound := reached(func(g result.Gang) float64 { return g.Bound }); bound < len(p.gangs) {
		held = min(p.w.GPUs-busy, int(p.m.holds*float64(p.w.GPUs)*p.random.Float64()))
	}
	p.run.HeldIncomplete += float64(held) * p.w.step
	c.Seconds = append(c.Seconds, now)
	c.Created = append(c.Created, reached(func(g result.Gang) float64 { return g.Created }))
	c.Admitted = append(c.Admitted, reached(func(g result.Gang) float64 { return g.Admitted }))
	c.Bound = append(c.Bound, reached(func(g result.Gang) float64 { return g.Bound }))
	c.Finished = append(c.Finished, reached(func(g result.Gang) float64 { return g.Finished }))
	c.Training = append(c.Training, training)
	c.BusyGPUs = append(c.BusyGPUs, busy)
	c.HeldGPUs = append(c.HeldGPUs, held)
}

func (p *player) costs() {
	p.run.Writes = map[string]map[string]int{}
	n := len(p.gangs)
	for client, writes := range p.m.writes {
		p.run.Writes[client] = map[string]int{}
		for what, count := range writes {
			p.run.Writes[client][what] = count*n + p.random.IntN(n)
		}
	}
	p.run.CPU = map[string]float64{
		"kube-apiserver": 0.2 * float64(n) * (1 + 0.1*p.random.Float64()), "scheduler": 0.1 * float64(n),
	}
	p.run.PeakMemory = map[string]int64{"kube-apiserver": 700 << 20, "scheduler": 200 << 20}
	if p.m.Name != p.m.Floor {
		p.run.CPU["operator"] = 0.05 * float64(n)
		p.run.PeakMemory["operator"] = 90 << 20
	}
	if p.w.End == workload.EndPlaced {
		p.run.IdleWrites = map[string]map[string]int{"scheduler": {"update leases": 30}}
	}
}
