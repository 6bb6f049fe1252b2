package preempt

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Base is the shape from which each study varies one thing.
func Base() sim.Shape {
	return sim.Shape{
		Nodes: 64, GPUsPerNode: 8, For: 72 * time.Hour, Load: 1.1, High: 0.25, Interval: 30 * time.Minute,
		Save: 30 * time.Second, Start: 2 * time.Minute, Cooperation: 1,
	}
}

// Small is a shape that is played in a moment.
func Small() sim.Shape {
	s := Base()
	s.Nodes, s.For = 16, 24*time.Hour
	return s
}

// SmallSeeds of Small.
const SmallSeeds = 5

// Large is a shape as large as the clusters that the operator is tested with.
func Large() sim.Shape {
	s := Base()
	s.Nodes, s.For = 1000, 48*time.Hour
	return s
}

// largeSeeds are enough for Large, whose gangs are many.
const largeSeeds = 10

// Options of Play.
type Options struct {
	Seeds int
	// Traces are played where there are any.
	Traces   []Trace
	Progress io.Writer
}

// Trace is a window of a file of bench/workload's form.
type Trace struct {
	Name, File  string
	First, Rows int
	// For is how long the window lasts: copies of it are shifted within that time.
	For time.Duration
}

// MuriTraces are the windows of two files of the Muri artifact (github.com/Rivendile/Muri, commit 4e69a78),
// the densest day of the one and the densest week of the other.
func MuriTraces(dir string) []Trace {
	const day = 24 * time.Hour
	return []Trace{
		{Name: "trace 2, rows 2044 to 2271", File: dir + "/trace2.csv", First: 2044, Rows: 228, For: day},
		{Name: "trace 3, rows 77 to 284", File: dir + "/trace3.csv", First: 77, Rows: 208, For: 7 * day},
	}
}

// Point is one shape of a study.
type Point struct {
	Label string
	sim.Comparison
}

// Study varies one thing.
type Study struct {
	// Name of the study's file, and what is varied.
	Name, Title string
	Points      []Point
}

// Results of all studies.
type Results struct {
	Seeds     int
	Intervals Study
	Sweeps    []Study
	Large     Point
	Traces    []Point
	Small     Point
}

// variation of the base.
type variation struct {
	label  string
	change func(*sim.Shape)
}

// varied is a study before it is played.
type varied struct {
	name, title string
	by          []variation
}

// intervals between two checkpoints, at which the targets are set.
func intervals() varied {
	v := varied{name: "interval", title: "Interval between checkpoints"}
	for _, d := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour} {
		v.by = append(v.by, variation{short(d), func(s *sim.Shape) { s.Interval = d }})
	}
	return v
}

func sweeps() []varied {
	times := func(name, title string, set func(*sim.Shape, time.Duration), to ...time.Duration) varied {
		v := varied{name: name, title: title}
		for _, d := range to {
			v.by = append(v.by, variation{short(d), func(s *sim.Shape) { set(s, d) }})
		}
		return v
	}
	shares := func(name, title string, set func(*sim.Shape, float64), to ...float64) varied {
		v := varied{name: name, title: title}
		for _, part := range to {
			v.by = append(v.by, variation{fmt.Sprintf("%.0f%%", 100*part), func(s *sim.Shape) { set(s, part) }})
		}
		return v
	}
	return []varied{
		times("save", "Time of a save", func(s *sim.Shape, d time.Duration) { s.Save = d },
			10*time.Second, 30*time.Second, time.Minute, 2*time.Minute),
		times("start", "Time of a start", func(s *sim.Shape, d time.Duration) { s.Start = d },
			30*time.Second, 2*time.Minute, 10*time.Minute),
		shares("cooperation", "Gangs that save when asked",
			func(s *sim.Shape, part float64) { s.Cooperation = part }, 0, 0.5, 1),
		shares("sigterm", "Gangs that save at SIGTERM", func(s *sim.Shape, part float64) { s.SaveAtEnd = part },
			0, 0.5, 1),
		shares("high", "Gangs of high priority", func(s *sim.Shape, part float64) { s.High = part },
			0.1, 0.2, 0.3, 0.4),
	}
}

// short form of a duration: 10m, and not 10m0s.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// Play all studies. It ends between two of them when ctx does.
func Play(ctx context.Context, o Options) (Results, error) {
	r := Results{Seeds: o.Seeds, Intervals: o.study(intervals())}
	for _, v := range sweeps() {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.Sweeps = append(r.Sweeps, o.study(v))
	}
	for _, t := range o.Traces {
		for _, load := range []float64{0.8, 1.1} {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			p, err := o.trace(t, load)
			if err != nil {
				return r, err
			}
			r.Traces = append(r.Traces, p)
		}
	}
	fmt.Fprintln(o.Progress, "1,000 nodes")
	r.Large = Point{"1,000 nodes, 48 hours", random(Large(), min(o.Seeds, largeSeeds))}
	r.Small = PlaySmall()
	return r, nil
}

// PlaySmall plays the small shape.
func PlaySmall() Point { return Point{"16 nodes, 24 hours", random(Small(), SmallSeeds)} }

func (o Options) study(v varied) Study {
	study := Study{Name: v.name, Title: v.title}
	for _, by := range v.by {
		fmt.Fprintf(o.Progress, "%s: %s\n", v.title, by.label)
		s := Base()
		by.change(&s)
		study.Points = append(study.Points, Point{by.label, random(s, o.Seeds)})
	}
	return study
}

func random(s sim.Shape, seeds int) sim.Comparison {
	return sim.Sweep(s, func(seed uint64) []sim.Job { return sim.Generate(s, seed) }, sim.Ways(), seeds)
}

// traceNodes is a cluster on which gangs of 32 GPUs, the largest of the traces, are an eighth.
const traceNodes = 32

func (o Options) trace(t Trace, load float64) (Point, error) {
	p := Point{Label: fmt.Sprintf("%s, load %g", t.Name, load)}
	fmt.Fprintln(o.Progress, p.Label)
	s := Base()
	s.Nodes, s.For, s.Load = traceNodes, t.For, load
	file, err := os.Open(t.File)
	if err != nil {
		return p, fmt.Errorf("opening the trace: %w", err)
	}
	defer file.Close()
	w, err := workload.ReadTrace(file, t.File, sim.TraceOptions(s, t.First, t.Rows))
	if err != nil {
		return p, err
	}
	repeated := func(seed uint64) []sim.Job { return sim.Repeat(w, s, seed) }
	p.Comparison = sim.Sweep(s, repeated, sim.Ways(), o.Seeds)
	return p, nil
}
