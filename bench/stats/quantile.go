package stats

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Median of values: the middle one, or the mean of the two in the middle. Its bounds are the medians of the
// bounds, so it is exact although some values are not, as long as those are clearly above the middle. It is
// Unknown of no values.
func Median(values []Bounds) Bounds { return each(values, median) }

// Quantile q, from 0 to 1, of values: the smallest of them that is not exceeded by a share q of them (the
// inverse of the empirical distribution). It is always one of the values, so that "never" does not spread to
// its neighbours as it would by interpolation. It is Unknown of no values.
func Quantile(q float64, values []Bounds) Bounds {
	return each(values, func(sorted []float64) float64 {
		return stat.Quantile(q, stat.Empirical, sorted, nil)
	})
}

// each applies a monotonic function to all lower and to all upper bounds, sorted.
func each(values []Bounds, f func(sorted []float64) float64) Bounds {
	if len(values) == 0 {
		return Unknown()
	}
	lows, highs := split(values)
	slices.Sort(lows)
	slices.Sort(highs)
	return Bounds{Low: f(lows), High: f(highs)}
}

func split(values []Bounds) (lows, highs []float64) {
	for _, v := range values {
		lows, highs = append(lows, v.Low), append(highs, v.High)
	}
	return lows, highs
}

// median of sorted values. It is not stat.Quantile with LinInterp, whose middle of 1, 2 and 3 is 1.5.
func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return stat.Mean(sorted[middle-1:middle+1], nil)
	}
	return sorted[middle]
}
