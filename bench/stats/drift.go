package stats

import (
	"maps"
	"math"
	"slices"
)

// MaxDrift is how far the raw stack's time of a round may be from its median over all rounds, as a share of
// the median. Beyond that the machine has changed more than what is compared.
const MaxDrift = 0.10

// Drifted returns the rounds, ascending, whose raw time is further from the median of the raw times than
// MaxDrift, and which are therefore thrown away for every stack that is compared with that raw stack. A run
// that was cut has taken for ever: it drifts when the median has not, and the others drift when it has.
func Drifted(raw map[int]Bounds) []int {
	middle := Median(slices.Collect(maps.Values(raw))).High
	var rounds []int
	for round, time := range raw {
		apart := math.IsInf(middle, 1) || math.Abs(time.High-middle) > MaxDrift*middle
		if apart && time.High != middle {
			rounds = append(rounds, round)
		}
	}
	slices.Sort(rounds)
	return rounds
}
