package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noisyRatios of n rounds: two stacks, the first truth times as slow, each with lognormal noise.
func noisyRatios(random *rand.Rand, n int, truth, noise float64) []Bounds {
	ratios := make([]Bounds, n)
	for i := range ratios {
		first := Exactly(20 * truth * math.Exp(noise*random.NormFloat64()))
		ratios[i] = first.Over(Exactly(20 * math.Exp(noise*random.NormFloat64())))
	}
	return ratios
}

// share of trials that hold.
func share(trials int, holds func(*rand.Rand) bool) float64 {
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	for range trials {
		if holds(random) {
			n++
		}
	}
	return float64(n) / float64(trials)
}

// TestIntervalContainsTheTruth measures what the package's documentation says of few pairs.
func TestIntervalContainsTheTruth(t *testing.T) {
	for n, want := range map[int]float64{
		3: 0.75, 5: 0.94, 6: 0.94, 7: 0.88, 9: 0.96,
	} {
		const truth = 1.2
		got := share(250, func(random *rand.Rand) bool {
			in := Compare(noisyRatios(random, n, truth, 0.05)).Interval
			return in.Low <= truth && truth <= in.High
		})
		if math.Abs(got-want) > 0.06 {
			t.Errorf("%d pairs: the interval contains the true ratio in %.3f of trials, want %.2f", n, got, want)
		}
	}
}

// TestClaimsOnNoisyTimes is the check on the harness itself: what is slowed on purpose is found, and what is
// the same is not claimed to differ.
func TestClaimsOnNoisyTimes(t *testing.T) {
	const rounds, noise = 7, 0.05
	claimed := func(truth float64, claims ...Claim) float64 {
		return share(150, func(random *rand.Rand) bool {
			floor := NoiseFloor(noisyRatios(random, rounds, 1, noise))
			got := Compare(noisyRatios(random, rounds, truth, noise)).Claim(floor)
			for _, claim := range claims {
				if got == claim {
					return true
				}
			}
			return false
		})
	}
	for name, tc := range map[string]struct {
		reason    string
		truth     float64
		claims    []Claim
		low, high float64
	}{
		"slowed by 20%": {"it must be found", 1.2, []Claim{Slower}, 0.8, 1},
		"sped up":       {"it must be found, too", 1 / 1.2, []Claim{Faster}, 0.8, 1},
		"wrong way":     {"noise does not turn a loss into a win", 1.2, []Claim{Faster}, 0, 0},
		"A/A":           {"nothing is different", 1, []Claim{Slower, Faster}, 0, 0.05},
	} {
		if got := claimed(tc.truth, tc.claims...); got < tc.low || got > tc.high {
			t.Errorf("%s: %v in %.3f of trials, want %v to %v: %s", name, tc.claims, got, tc.low, tc.high, tc.reason)
		}
	}
}

func TestCompareIsDeterministic(t *testing.T) {
	ratios := noisyRatios(rand.New(rand.NewPCG(3, 4)), 8, 1.1, 0.1)
	if diff := cmp.Diff(Compare(ratios), Compare(ratios)); diff != "" {
		t.Error(diff)
	}
}
