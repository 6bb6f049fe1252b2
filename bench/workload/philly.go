package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The fits below are of trace2.csv of the Muri artifact (Zhao et al., SIGCOMM '22,
// github.com/Rivendile/Muri, simulator/trace-data): 5,755 jobs of Microsoft's Philly cluster (Jeon et al.,
// "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC '19,
// github.com/msr-fiddle/philly-traces, CC-BY-4.0).

// phillySize is one size of gangs, and the lognormal distribution of their durations: mean and standard
// deviation of the natural logarithm of the seconds.
type phillySize struct {
	ranks, jobs int
	mean, sd    float64
}

// phillySizes with how many jobs of the trace have each.
func phillySizes() []phillySize {
	return []phillySize{
		{1, 2335, 8.09, 3.32}, {2, 171, 9.22, 2.35}, {4, 937, 8.42, 2.78}, {8, 1825, 9.46, 2.98},
		{16, 424, 8.43, 3.11}, {32, 63, 7.26, 3.27},
	}
}

const (
	// phillyGap is the mean time between two arrivals, in seconds, and phillyCV2 its squared coefficient of
	// variation (variance by squared mean).
	phillyGap = 1490.0
	phillyCV2 = 20.2
	// phillyShortest duration, in seconds of the trace.
	phillyShortest = 1.0
)

// phillyOptions of the generator.
type phillyOptions struct {
	gangs, nodes int
	// gap is the mean time between two arrivals before compression, in seconds.
	gap float64
	// compress divides all times.
	compress float64
	// longest duration, before compression: what is longer is capped. So are the rare drawn durations of years.
	longest time.Duration
	// checkpoint interval before compression.
	checkpoint time.Duration
	seed       uint64
}

// philly is 240 gangs on 12 nodes: about four days of the trace, a compress-th as long. With durations capped
// at a day the offered load is 95 GPUs on average, as many as there are, and most of it comes in bursts. At a
// smaller scale arrivals are rarer, so that the load stays what the cluster holds; gangs of 32 need 4 nodes.
func philly(compress float64) func(float64) Workload {
	return func(scale float64) Workload {
		nodes := scaled(12, scale, 4)
		share := float64(nodes) / 12
		return phillyGangs(phillyOptions{
			gangs: scaled(240, share, 1), nodes: nodes, gap: phillyGap / share, compress: compress,
			longest: 24 * time.Hour, checkpoint: time.Hour, seed: phillySeed,
		})
	}
}

// Philly draws gangs of the trace's sizes, durations and gaps. All times are divided by compress; durations
// are capped at longest, before that. The cluster has as many nodes as there are gangs.
func Philly(gangs int, compress float64, longest time.Duration, seed uint64) Workload {
	return phillyGangs(phillyOptions{
		gangs: gangs, nodes: gangs, gap: phillyGap, compress: compress, longest: longest, checkpoint: time.Hour,
		seed: seed,
	})
}

// phillyGangs draws gangs from the fits: sizes in proportion, lognormal durations by size, lognormal gaps
// between arrivals, priorities by phillyPriority.
func phillyGangs(o phillyOptions) Workload {
	draw, sizes, at := random(o.seed), phillySizes(), 0.0
	w := Workload{Nodes: o.nodes, End: EndFinished}
	for i := range o.gangs {
		size := drawSize(draw, sizes)
		duration := min(max(lognormal(draw, size.mean, size.sd), phillyShortest), o.longest.Seconds())
		g := ranks(size.ranks)
		g.Name, g.Priority = fmt.Sprintf("gang-%04d", i), phillyPriority(draw)
		g.At = seconds(at / o.compress).Round(time.Millisecond)
		g.Train = max(seconds(duration/o.compress).Round(time.Millisecond), minTrain)
		g.Checkpoint = seconds(o.checkpoint.Seconds() / o.compress)
		w.Gangs = append(w.Gangs, g)
		at += drawGap(draw, o.gap)
	}
	return w
}

// drawSize in proportion to the trace's jobs.
func drawSize(draw *rand.Rand, sizes []phillySize) phillySize {
	jobs := 0
	for _, s := range sizes {
		jobs += s.jobs
	}
	n := draw.IntN(jobs)
	for _, s := range sizes {
		if n -= s.jobs; n < 0 {
			return s
		}
	}
	return sizes[len(sizes)-1] // not reached: n is below the sum
}

// drawGap between two arrivals, with that mean and phillyCV2. Of the distributions that have both (lognormal,
// balanced hyperexponential, Weibull, gamma) the lognormal one has the trace's quantiles: its median is
// 324 s, and 1 gap of 100 is over 5.2 h; the trace's are 298 s and 4.8 h. A lognormal variable with mean m
// has CV^2 = exp(sd^2)-1 and m = exp(mean+sd^2/2).
func drawGap(draw *rand.Rand, mean float64) float64 {
	variance := math.Log(1 + phillyCV2)
	return lognormal(draw, math.Log(mean)-variance/2, math.Sqrt(variance))
}

// lognormal variable whose logarithm has that mean and standard deviation.
func lognormal(draw *rand.Rand, mean, sd float64) float64 {
	return math.Exp(mean + sd*draw.NormFloat64())
}

// phillyPriority is low for 3 gangs of 10 and high for 1. The trace has no priorities, so the shares are
// chosen: most work is normal, and what preempts is rare.
func phillyPriority(draw *rand.Rand) Priority {
	switch n := draw.IntN(10); {
	case n < 3:
		return PriorityLow
	case n < 9:
		return PriorityNormal
	default:
		return PriorityHigh
	}
}
