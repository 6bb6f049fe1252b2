package backfill

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// Large is how many GPUs a gang has at least for which capacity is reserved.
const Large = 32

const gpusPerNode = 8

// Policy has the defaults of the operator's configuration.
func Policy() reservation.Policy {
	return reservation.Policy{
		MaxReservations: 1, MaxSharePercent: 50, MaxHold: 24 * time.Hour, MaxAge: 48 * time.Hour,
		MarginPercent: 25, Placing: 30 * time.Second, MaxKeepsOff: 32,
	}
}

// Names of the ways.
const (
	Today   = "overtaking, as today"
	Strict  = "strict order"
	Reserve = "reservation"
	Lend    = "reservation, and lent capacity"
)

// Setting of a cluster and its gangs.
type Setting struct {
	Label string
	Load  float64
	sim.Properties
	// QuotaShare of the GPUs is the quota of each queue; 0: no quotas.
	QuotaShare float64
	Faults     sim.Faults
	// After is the class's reserve-after-seconds.
	After  time.Duration
	Policy reservation.Policy
}

// Base is the setting from which each variation changes one thing.
func Base() Setting {
	return Setting{
		Load: 0.7, Properties: sim.Properties{Reporters: 0.8, Deadlines: 0.3, Lenders: 0.5, Queues: 1},
		After: time.Hour, Policy: Policy(),
	}
}

// loads at which all ways are compared.
var loads = []float64{0.6, 0.7, 0.8}

func variations() []Setting {
	var all []Setting
	vary := func(label string, change func(*Setting)) {
		s := Base()
		s.Label = label
		change(&s)
		all = append(all, s)
	}
	for _, share := range []float64{0, 0.2, 0.8} {
		vary(fmt.Sprintf("%.0f%% lend", 100*share), func(s *Setting) { s.Lenders = share })
	}
	vary("no deadlines", func(s *Setting) { s.Deadlines = 0 })
	vary("round deadlines", func(s *Setting) { s.Round = true })
	vary("no reports", func(s *Setting) { s.Reporters = 0 })
	vary("neither", func(s *Setting) { s.Reporters, s.Deadlines = 0, 0 })
	vary("two queues, each with a quota of 75%", func(s *Setting) { s.Queues, s.QuotaShare = 2, 0.75 })
	vary("failures of gangs and nodes", func(s *Setting) {
		s.Faults = sim.Faults{GPUTime: 2000 * time.Hour, NodeTime: 60 * 24 * time.Hour, Repair: 4 * time.Hour}
	})
	vary("reserve after a day", func(s *Setting) { s.After = 24 * time.Hour })
	vary("reserve after a week", func(s *Setting) { s.After = 7 * 24 * time.Hour })
	vary("maxHold 2 hours", func(s *Setting) { s.Policy.MaxHold = 2 * time.Hour })
	vary("maxAge 6 hours", func(s *Setting) { s.Policy.MaxAge = 6 * time.Hour })
	return all
}

func (s *Setting) ways() []sim.Way {
	reserve := sim.Backfill{Policy: &s.Policy, Large: Large, After: s.After}
	lend := reserve
	lend.Lend = true
	return []sim.Way{
		{Name: Today, Backfill: &sim.Backfill{}}, {Name: Strict, Backfill: &sim.Backfill{Strict: true}},
		{Name: Reserve, Backfill: &reserve}, {Name: Lend, Backfill: &lend},
	}
}

// Source of gangs.
type Source struct {
	Name string
	// Gangs of a seed at a load, and the cluster on which they are played.
	Gangs func(load float64, seed uint64) ([]sim.Job, sim.Shape)
	// seeds of the variations: a trace takes long.
	seeds int
}

func shape(nodes int, span time.Duration) sim.Shape {
	return sim.Shape{
		Nodes: nodes, GPUsPerNode: gpusPerNode, For: span, Interval: 30 * time.Minute, Save: 30 * time.Second,
		Start: 2 * time.Minute,
	}
}

// longest random gang. The fits have rare ones of years.
const longest = 7 * 24 * time.Hour

// Generated gangs, so many, and other ones with each seed.
func Generated(gangs int) Source {
	return Source{
		Name: fmt.Sprintf("%d random gangs", gangs), seeds: 20,
		Gangs: func(load float64, seed uint64) ([]sim.Job, sim.Shape) {
			return sized(sim.Philly(gangs, longest, shape(0, 0), seed), load)
		},
	}
}

// sized is a cluster on which gangs are a load, but not smaller than the largest gang.
func sized(jobs []sim.Job, load float64) ([]sim.Job, sim.Shape) {
	offered, span := sim.Offered(jobs)
	nodes := max(1, int(offered/gpusPerNode/load))
	for i := range jobs {
		nodes = max(nodes, int(jobs[i].Total()+gpusPerNode-1)/gpusPerNode)
	}
	return jobs, shape(nodes, span)
}

// Traced gangs of a file of bench/workload's formats, all at their own times. The load sets the number of
// nodes.
func Traced(path string) (Source, error) {
	s := Source{Name: filepath.Base(path), seeds: 20}
	file, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("opening the trace: %w", err)
	}
	defer file.Close()
	const enough = 1000 // nodes: the reader drops gangs that do not fit
	w, err := workload.ReadTrace(file, path, sim.TraceOptions(shape(enough, 0), 0, 0))
	if err != nil {
		return s, err
	}
	jobs := sim.Replay(w, shape(0, 0))
	const many = 2000 // gangs take minutes for each seed of all variations
	if len(jobs) > many {
		s.seeds = 1
	}
	s.Gangs = func(load float64, _ uint64) ([]sim.Job, sim.Shape) { return sized(jobs, load) }
	return s, nil
}

// Options of Play.
type Options struct {
	Seeds    int
	Sources  []Source
	Progress io.Writer
}

// Played is a setting with what each way gave.
type Played struct {
	Setting
	// Nodes on average of the seeds.
	Nodes, Seeds int
	Ways         []Measures
}

// Section has the results of one source.
type Section struct {
	Source string
	// Loads compares all ways, Variations change one thing at a load of 0.7.
	Loads, Variations []Played
}

// Results of all sources.
type Results struct {
	Seeds    int
	Sections []Section
}

// Play all settings on all sources. It ends between two of them when ctx does.
func Play(ctx context.Context, o Options) (Results, error) {
	r := Results{Seeds: o.Seeds}
	for _, source := range o.Sources {
		section := Section{Source: source.Name}
		for _, load := range loads {
			s := Base()
			s.Load, s.Label = load, fmt.Sprintf("load %g", load)
			section.Loads = append(section.Loads, o.play(ctx, source, s, o.Seeds))
		}
		for _, s := range variations() {
			section.Variations = append(section.Variations, o.play(ctx, source, s, min(o.Seeds, source.seeds)))
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.Sections = append(r.Sections, section)
	}
	return r, nil
}

func (o Options) play(ctx context.Context, source Source, s Setting, seeds int) Played {
	fmt.Fprintf(o.Progress, "%s: %s\n", source.Name, s.Label)
	ways := s.ways()
	results := make([][]sim.Result, len(ways))
	limit, all := make(chan struct{}, runtime.GOMAXPROCS(0)), sync.WaitGroup{}
	p := Played{Setting: s, Seeds: seeds}
	for i := range ways {
		results[i] = make([]sim.Result, seeds)
	}
	for seed := range seeds {
		jobs, cluster := source.Gangs(s.Load, uint64(seed))
		jobs = sim.Draw(jobs, s.Properties, uint64(seed))
		cluster.Faults = s.Faults
		p.Nodes += cluster.Nodes
		for range s.Queues {
			if quota := int64(s.QuotaShare * float64(cluster.Nodes*gpusPerNode)); quota > 0 {
				cluster.Quotas = append(cluster.Quotas, quota)
			}
		}
		for i, way := range ways {
			if ctx.Err() != nil {
				return p
			}
			limit <- struct{}{}
			all.Go(func() {
				results[i][seed] = sim.Play(cluster, jobs, way, uint64(seed))
				<-limit
			})
		}
	}
	all.Wait()
	p.Nodes /= seeds
	for i, way := range ways {
		p.Ways = append(p.Ways, measure(way.Name, results[i]))
	}
	return p
}
