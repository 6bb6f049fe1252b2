package stats

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// MinPairs is the smallest number of pairs from which an interval is given and a claim is made.
	MinPairs = 3
	// Confidence of an interval, by its name; see the package's documentation for what few pairs make of it.
	Confidence = 0.95
	// Resamples of a bootstrap.
	Resamples = 10_000
	// seed of every bootstrap: the same ratios give the same interval.
	seed = 20_240_601
)

// Comparison of two stacks by the ratios of their times, paired by round.
type Comparison struct {
	// N is the number of pairs with a ratio.
	N int
	// Median of the ratios; Unknown when N is 0.
	Median Bounds
	// Interval of the median, by the percentile bootstrap (Efron 1979): the 2.5% and the 97.5% quantile of the
	// medians of Resamples samples, drawn with replacement. Its lower end comes from the lower bounds of the
	// ratios and its upper end from the upper ones. Unknown when N is less than MinPairs.
	Interval Bounds
}

// Compare ratios. Those of which nothing is known are not counted.
func Compare(ratios []Bounds) Comparison {
	known := slices.DeleteFunc(slices.Clone(ratios), func(r Bounds) bool { return !r.Known() })
	c := Comparison{N: len(known), Median: Median(known), Interval: Unknown()}
	if c.N >= MinPairs {
		c.Interval = bootstrap(known)
	}
	return c
}

func bootstrap(ratios []Bounds) Bounds {
	random := rand.New(rand.NewPCG(seed, seed))
	lows, highs := make([]float64, Resamples), make([]float64, Resamples)
	low, high := make([]float64, len(ratios)), make([]float64, len(ratios))
	for i := range Resamples {
		for j := range ratios {
			drawn := ratios[random.IntN(len(ratios))]
			low[j], high[j] = drawn.Low, drawn.High
		}
		slices.Sort(low)
		slices.Sort(high)
		lows[i], highs[i] = median(low), median(high)
	}
	slices.Sort(lows)
	slices.Sort(highs)
	const tail = (1 - Confidence) / 2
	return Bounds{
		Low:  stat.Quantile(tail, stat.Empirical, lows, nil),
		High: stat.Quantile(1-tail, stat.Empirical, highs, nil),
	}
}

// Claim is what a comparison shows of the first stack.
type Claim string

const (
	// NoRatio means that no round has a ratio: one of the two did not run, or the base was cut.
	NoRatio Claim = "NoRatio"
	// TooFewPairs means that there are fewer than MinPairs.
	TooFewPairs Claim = "TooFewPairs"
	// Faster and Slower mean that the interval excludes 1 and lies outside the noise.
	Faster Claim = "Faster"
	Slower Claim = "Slower"
	// WithinNoise means that the interval excludes 1, but not all that A/A runs differ by.
	WithinNoise Claim = "WithinNoise"
	// NoDifference means that the interval includes 1: no difference is shown, which does not mean that there
	// is none.
	NoDifference Claim = "NoDifference"
)

// Claim that the comparison supports, given the noise floor of the same workload. A cut run only ever widens
// the interval towards the side on which its time is not known, so a claim holds wherever its true time lies.
func (c Comparison) Claim(noise Noise) Claim {
	switch limit := max(noise.Factor, 1); {
	case c.N == 0:
		return NoRatio
	case c.N < MinPairs:
		return TooFewPairs
	case c.Interval.High < 1/limit:
		return Faster
	case c.Interval.Low > limit:
		return Slower
	case c.Interval.High < 1 || c.Interval.Low > 1:
		return WithinNoise
	default:
		return NoDifference
	}
}
