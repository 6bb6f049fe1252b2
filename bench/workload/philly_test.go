package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fits of trace2.csv: jobs, and mean and standard deviation of ln(seconds), by ranks. They stand here a
// second time so that a slip in the generator's table is seen.
func fits() map[int][3]float64 {
	return map[int][3]float64{
		1: {2335, 8.09, 3.32}, 2: {171, 9.22, 2.35}, 4: {937, 8.42, 2.78}, 8: {1825, 9.46, 2.98},
		16: {424, 8.43, 3.11}, 32: {63, 7.26, 3.27},
	}
}

// draws are enough for the bounds below: the heavy tails of the durations need many.
const draws = 200_000

// TestPhillySizes: the proportions of the trace, within 0.4% of all jobs.
func TestPhillySizes(t *testing.T) {
	draw, sizes, got := random(7), phillySizes(), map[int]int{}
	for range draws {
		got[drawSize(draw, sizes).ranks]++
	}
	for ranks, fit := range fits() {
		want := fit[0] / 5755
		if share := float64(got[ranks]) / draws; math.Abs(share-want) > 0.004 {
			t.Errorf("%.4f of gangs have %d ranks, want %.4f", share, ranks, want)
		}
	}
	if len(got) != len(fits()) {
		t.Errorf("%d sizes are drawn, want %d", len(got), len(fits()))
	}
}

// TestPhillyGaps: mean and CV^2 of the gaps between arrivals, and the quantiles of the trace. A sample's CV^2
// of so heavy a tail spreads widely, so its bounds are wide and the logarithm's moments are held too.
func TestPhillyGaps(t *testing.T) {
	draw, gaps, logs := random(7), make([]float64, draws), make([]float64, draws)
	for i := range gaps {
		gaps[i] = drawGap(draw, phillyGap)
		logs[i] = math.Log(gaps[i])
	}
	mean, variance := moments(gaps)
	logMean, logVariance := moments(logs)
	slices.Sort(gaps)
	tests := map[string]struct {
		reason               string
		got, want, tolerance float64
	}{
		"mean":               {"the trace's 1490 s", mean, 1490, 50},
		"CV^2":               {"the trace's 20.2", variance / mean / mean, 20.2, 5},
		"mean of logs":       {"ln 1490 - ln(21.2)/2", logMean, 5.779, 0.02},
		"variance of logs":   {"ln(1 + 20.2)", logVariance, 3.054, 0.05},
		"median":             {"298 s in the trace", gaps[draws/2], 298, 40},
		"upper quartile":     {"1,150 s in the trace", gaps[draws*3/4], 1150, 150},
		"one of twenty":      {"5,826 s in the trace", gaps[draws*19/20], 5826, 300},
		"one of one hundred": {"17,191 s in the trace", gaps[draws*99/100], 17191, 2500},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if math.Abs(tc.got-tc.want) > tc.tolerance {
				t.Errorf("%s: got %.3f, want %.3f +- %.3f", tc.reason, tc.got, tc.want, tc.tolerance)
			}
		})
	}
}

func moments(of []float64) (mean, variance float64) {
	for _, x := range of {
		mean += x / float64(len(of))
	}
	for _, x := range of {
		variance += (x - mean) * (x - mean) / float64(len(of))
	}
	return mean, variance
}

// TestPhillyDurations: by size, the median is e^mean and the quantiles one standard deviation from it are
// where a lognormal distribution has them. Quantiles do not mind that the tails are capped.
func TestPhillyDurations(t *testing.T) {
	bySize := map[int][]float64{}
	for _, g := range phillyGangs(phillyOptions{
		gangs: draws, nodes: 4, gap: 1, compress: 1, longest: MaxTime, seed: 7,
	}).Gangs {
		bySize[g.Ranks] = append(bySize[g.Ranks], math.Log(g.Train.Seconds()))
	}
	for ranks, fit := range fits() {
		got, mean, sd := bySize[ranks], fit[1], fit[2]
		slices.Sort(got)
		tolerance := 6 * sd / math.Sqrt(float64(len(got))) // four standard errors of the outer quantiles
		for quantile, want := range map[float64]float64{0.1587: mean - sd, 0.5: mean, 0.8413: mean + sd} {
			if at := got[int(quantile*float64(len(got)))]; math.Abs(at-want) > tolerance {
				t.Errorf("%d ranks: quantile %g of ln(seconds) is %.3f, want %.3f +- %.3f",
					ranks, quantile, at, want, tolerance)
			}
		}
	}
}

// TestPhillyGangs: compression divides all times alike, durations are capped, priorities have their shares.
func TestPhillyGangs(t *testing.T) {
	o := phillyOptions{
		gangs: 2000, nodes: 4, gap: phillyGap, compress: 1000, longest: 24 * time.Hour,
		checkpoint: time.Hour, seed: 7,
	}
	slow := phillyGangs(o)
	o.compress *= 2
	fast := phillyGangs(o)
	shares := map[Priority]int{}
	for i, g := range slow.Gangs {
		half := fast.Gangs[i]
		if d := (g.At - 2*half.At).Abs(); d > 2*time.Millisecond {
			t.Errorf("%s comes at %s, and at %s twice as fast", g.Name, g.At, half.At)
		}
		if d := (g.Train - 2*half.Train).Abs(); d > 2*time.Millisecond && half.Train > minTrain {
			t.Errorf("%s trains %s, and %s twice as fast", g.Name, g.Train, half.Train)
		}
		if g.Train < minTrain || g.Train > 86400*time.Millisecond {
			t.Errorf("%s trains %s, want %s to 86.4s", g.Name, g.Train, minTrain)
		}
		shares[g.Priority]++
		g.At, g.Train, half.At, half.Train = 0, 0, 0, 0
		g.Checkpoint /= 2
		if diff := cmp.Diff(g, half); diff != "" {
			t.Errorf("%s (-slow +fast):\n%s", g.Name, diff)
		}
	}
	for priority, want := range map[Priority]float64{PriorityLow: 0.3, PriorityNormal: 0.6, PriorityHigh: 0.1} {
		if got := float64(shares[priority]) / 2000; math.Abs(got-want) > 0.04 {
			t.Errorf("%.3f of gangs are %s, want %.1f", got, priority, want)
		}
	}
	o.seed++
	if cmp.Equal(fast, phillyGangs(o)) {
		t.Error("another seed gives the same gangs")
	}
}

// TestPhillyLoad: what arrives keeps the cluster busy and makes gangs wait, at full size and at the smallest.
func TestPhillyLoad(t *testing.T) {
	for _, scale := range scales() {
		w := build(t, "philly", scale)
		work := 0.0
		for _, g := range w.Gangs {
			work += g.Train.Seconds() * float64(g.Ranks)
		}
		last := w.Gangs[len(w.Gangs)-1].At
		if load := work / last.Seconds() / float64(w.GPUs()); load < 0.7 || load > 1.5 {
			t.Errorf("at scale %g the offered load is %.2f of the cluster", scale, load)
		}
	}
}
