package stats

import "slices"

// Noise floor of a workload: what a stack differs by from itself.
type Noise struct {
	// Factor, at least 1, such that ratios from 1/Factor to Factor are noise; +Inf when a stack was cut only
	// once of its two runs. 0 when no A/A runs were made.
	Factor float64
	// Pairs of A/A runs that it comes from; of the stack with the largest Factor.
	Pairs int
}

// NoiseFloor of one stack, from the ratios of its second run to its first in the same round. It is the end of
// the interval of their median that is further from 1, since what it is held against is an interval of a
// median; with fewer than MinPairs, the ratio that is furthest from 1.
func NoiseFloor(ratios []Bounds) Noise {
	c := Compare(ratios)
	if c.N == 0 {
		return Noise{}
	}
	widest := c.Interval
	if c.N < MinPairs {
		known := slices.DeleteFunc(slices.Clone(ratios), func(r Bounds) bool { return !r.Known() })
		widest = Bounds{Low: Quantile(0, known).Low, High: Quantile(1, known).High}
	}
	return Noise{Factor: max(widest.High, 1/widest.Low), Pairs: c.N}
}

// Widest returns the noise floor that holds for all of several stacks.
func Widest(floors ...Noise) Noise {
	var widest Noise
	for _, n := range floors {
		if n.Factor > widest.Factor {
			widest = n
		}
	}
	return widest
}
