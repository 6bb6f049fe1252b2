package sim

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"text/tabwriter"
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

// Ways that are compared; the first is what the others are compared with.
func Ways() []Way {
	return []Way{
		{Name: "youngest first (Kueue)", Order: Youngest},
		{Name: "random", Order: Random},
		{Name: "Kubernetes' own gangs", Order: Native},
		{Name: "Volcano", Order: Volcano},
		{Name: "coscheduling", Order: Coscheduling},
		{Name: "cheapest first", Order: Youngest, Policy: &Defaults},
		{Name: "cheapest first, asked to save", Order: Youngest, Policy: &Defaults, MaxDelay: MaxDelay},
	}
}

// Line compares a way with the first one, on the same gangs, seed by seed.
type Line struct {
	Way string
	// Lost and Waste are medians of ratios, with their intervals.
	Lost, Waste stats.Comparison
	// Delay is how much longer gangs of high value wait for their start, Low how much longer those of low value
	// take, as a ratio of the means.
	Delay       time.Duration
	Low         float64
	Preemptions int
}

// Sweep plays all ways on one shape, with the gangs of each seed.
func Sweep(s Shape, gangs func(seed uint64) []Job, ways []Way, seeds int) []Line {
	results := make([][]Result, len(ways))
	for i := range results {
		results[i] = make([]Result, seeds)
	}
	limit, all := make(chan struct{}, runtime.GOMAXPROCS(0)), sync.WaitGroup{}
	for seed := range seeds {
		jobs := gangs(uint64(seed))
		for i, way := range ways {
			limit <- struct{}{}
			all.Go(func() {
				results[i][seed] = Play(s, jobs, way, uint64(seed))
				<-limit
			})
		}
	}
	all.Wait()
	lines := make([]Line, len(ways))
	for i, way := range ways {
		lines[i] = compare(way, results[i], results[0])
	}
	return lines
}

func compare(way Way, of, base []Result) Line {
	l := Line{Way: way.Name}
	var lost, waste []stats.Bounds
	var high, baseHigh, low, baseLow []time.Duration
	for i := range of {
		lost = append(lost, ratio(of[i].Lost, base[i].Lost))
		waste = append(waste, ratio(of[i].Waste(), base[i].Waste()))
		high, baseHigh = append(high, of[i].Waits[High]...), append(baseHigh, base[i].Waits[High]...)
		low, baseLow = append(low, of[i].Completions[Low]...), append(baseLow, base[i].Completions[Low]...)
		l.Preemptions += of[i].Preemptions
	}
	l.Lost, l.Waste = stats.Compare(lost), stats.Compare(waste)
	l.Delay = Mean(high) - Mean(baseHigh)
	l.Low = Mean(low).Seconds() / Mean(baseLow).Seconds()
	return l
}

func ratio(a, base time.Duration) stats.Bounds {
	return stats.Exactly(a.Hours()).Over(stats.Exactly(base.Hours()))
}

// Write lines as a table of Markdown.
func Write(w io.Writer, lines []Line) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| victims\t| lost work\t| 95% interval\t| all waste\t| urgent gangs wait longer by\t"+
		"| the others take\t| preemptions\t|")
	fmt.Fprintln(t, "|---\t|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|")
	for _, l := range lines {
		fmt.Fprintf(t, "| %s\t| %.2f\t| %.2f to %.2f\t| %.2f\t| %s\t| %.2f\t| %d\t|\n", l.Way, l.Lost.Median.Low,
			l.Lost.Interval.Low, l.Lost.Interval.High, l.Waste.Median.Low, l.Delay.Round(time.Second), l.Low,
			l.Preemptions)
	}
	return t.Flush()
}
