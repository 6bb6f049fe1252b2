package stats

import (
	"maps"
	"math"
	"slices"
)

// MaxDrift is how far the raw stack's times of a round may be from their medians over all rounds, as a share
// of the median. Beyond that the machine has changed more than what is compared.
const MaxDrift = 0.10

// Drifted returns the rounds, ascending, in which the raw stack drifted, and which are therefore thrown away
// for every stack that is compared with it. raw has its times by round, one map for each workload. A round
// has drifted when the median over its workloads of time by median time is further from 1 than MaxDrift: a
// machine that has changed shows in most of them, while a single one may just have gone another way. A run
// that was cut has taken forever: it drifts when the median has not, and the others drift when it has.
func Drifted(raw ...map[int]Bounds) []int {
	shares := map[int][]float64{}
	for _, times := range raw {
		middle := Median(slices.Collect(maps.Values(times))).High
		for round, time := range times {
			share := 1.0
			if time.High != middle {
				share = time.High / middle // 0 where the median is infinite
			}
			shares[round] = append(shares[round], share)
		}
	}
	var rounds []int
	for round, of := range shares {
		slices.Sort(of)
		if math.Abs(median(of)-1) > MaxDrift+1e-9 { // 1.1 is within
			rounds = append(rounds, round)
		}
	}
	slices.Sort(rounds)
	return rounds
}
