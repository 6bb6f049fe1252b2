package forecasts

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/backfill"
	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// Names of the ways to forecast.
const (
	Plain  = "plain simulation"
	Common = "common factor"
)

// Limits are the defaults of the operator's configuration.
func Limits() forecast.Limits {
	return forecast.Limits{Horizon: 7 * 24 * time.Hour, Considered: 256, Samples: forecast.MaxSamples}
}

func ways() []sim.Forecasting {
	return []sim.Forecasting{
		{Name: Plain, Limits: Limits()}, {Name: Common, Spread: -1, Limits: Limits()},
	}
}

// Setting of a cluster and its gangs.
type Setting struct {
	Label string
	Load  float64
	sim.Properties
	// Known is the share of gangs whose length users know to a fifth (expectedSeconds).
	Known float64
}

// Base is the setting from which each variation changes one thing.
func Base() Setting {
	return Setting{Load: 0.7, Properties: sim.Properties{Reporters: 0.8, Deadlines: 0.3, Queues: 1}}
}

func settings() []Setting {
	var all []Setting
	vary := func(label string, change func(*Setting)) {
		s := Base()
		s.Label = label
		change(&s)
		all = append(all, s)
	}
	for _, load := range []float64{0.6, 0.7, 0.8} {
		vary(fmt.Sprintf("load %g", load), func(s *Setting) { s.Load = load })
	}
	for _, share := range []float64{0, 0.5, 1} {
		vary(fmt.Sprintf("%.0f%% report", 100*share), func(s *Setting) { s.Reporters = share })
	}
	for _, share := range []float64{0.5, 0.8, 1} {
		vary(fmt.Sprintf("%.0f%% have a hint", 100*share), func(s *Setting) { s.Known = share })
	}
	vary("no deadlines", func(s *Setting) { s.Deadlines = 0 })
	vary("round deadlines", func(s *Setting) { s.Round = true })
	return all
}

// Options of Play.
type Options struct {
	Seeds    int
	Sources  []backfill.Source
	Progress io.Writer
}

// Played is a setting with what each way gave.
type Played struct {
	Setting
	// Nodes on average of the seeds.
	Nodes int
	Ways  []Measures
}

// Section has the results of one source.
type Section struct {
	Source string
	Played []Played
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
		for _, s := range settings() {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			fmt.Fprintf(o.Progress, "%s: %s\n", source.Name, s.Label)
			section.Played = append(section.Played, o.play(source, s))
		}
		r.Sections = append(r.Sections, section)
	}
	return r, nil
}

func (o Options) play(source backfill.Source, s Setting) Played {
	results := make([]sim.Result, o.Seeds)
	limit, all := make(chan struct{}, runtime.GOMAXPROCS(0)), sync.WaitGroup{}
	p := Played{Setting: s}
	way := sim.Way{Backfill: &sim.Backfill{}, Forecasts: ways()}
	for seed := range o.Seeds {
		jobs, cluster := source.Gangs(s.Load, uint64(seed))
		jobs = sim.Expect(sim.Draw(jobs, s.Properties, uint64(seed)), s.Known, uint64(seed))
		p.Nodes += cluster.Nodes
		limit <- struct{}{}
		all.Go(func() {
			results[seed] = sim.Play(cluster, jobs, way, uint64(seed))
			<-limit
		})
	}
	all.Wait()
	p.Nodes /= o.Seeds
	for i, f := range way.Forecasts {
		var given []sim.Forecast
		for _, r := range results {
			given = append(given, r.Forecasts[i]...)
		}
		p.Ways = append(p.Ways, measure(f.Name, given))
	}
	return p
}
