package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// counted is what counts, in brief: rounds by stack.
func counted(p played) map[string][]int {
	rounds := map[string][]int{}
	for _, s := range p.stacks {
		for _, run := range s.runs {
			rounds[s.Name] = append(rounds[s.Name], run.Round)
		}
	}
	return rounds
}

type playedCase struct {
	reason   string
	workload int
	change   func(*result.Results)
	want     map[string][]int
	drifts   []drift
	absent   []string
}

func playedCases() map[string]playedCase {
	all := []int{1, 2, 3, 4}
	second := []drift{{Floor: "raw/volcano", Rounds: []int{4}, Runs: 2}}
	return map[string]playedCase{
		"drift": {
			reason: "round 4 counts for no stack on that floor, and for those on others",
			change: func(*result.Results) {},
			want: map[string][]int{
				"raw/volcano": {1, 2, 3}, "ours/volcano": {1, 2, 3}, "peer/volcano": {1, 2, 3}, "other": all,
			},
			drifts: []drift{{Floor: "raw/volcano", Rounds: []int{4}, Runs: 4}},
			absent: []string{"absent/volcano"},
		},
		"other workload": {
			reason: "a round that has drifted counts for no workload", workload: 1, change: func(*result.Results) {},
			want:   map[string][]int{"raw/volcano": {1, 2, 3}, "ours/volcano": {1, 2, 3}},
			drifts: second, absent: []string{"peer/volcano", "absent/volcano", "other"},
		},
		"one of two": {
			reason: "a workload that went another way once is no drift", workload: 0,
			change: func(r *result.Results) {
				for i, run := range r.Runs {
					if run.Stack == "raw/volcano" && run.Workload == r.Workloads[1].Name {
						r.Runs[i].Seconds = 100
					}
				}
				for i, run := range r.Runs {
					if run.Stack == "raw/volcano" && run.Workload == r.Workloads[0].Name && run.Round == 4 {
						r.Runs[i].Seconds = 23.9 // 18% from the median of this workload, 9% in that of both
					}
				}
			},
			want: map[string][]int{
				"raw/volcano": all, "ours/volcano": all, "peer/volcano": all, "other": all,
			},
			absent: []string{"absent/volcano"},
		},
		"any order": {
			reason: "rounds are sorted", workload: 1,
			change: func(r *result.Results) {
				random := rand.New(rand.NewPCG(1, 1))
				random.Shuffle(len(r.Runs), func(i, j int) { r.Runs[i], r.Runs[j] = r.Runs[j], r.Runs[i] })
			},
			want:   map[string][]int{"raw/volcano": {1, 2, 3}, "ours/volcano": {1, 2, 3}},
			drifts: second, absent: []string{"peer/volcano", "absent/volcano", "other"},
		},
		"failed floor": {
			reason: "a round without a floor does not drift, and counts", workload: 1,
			change: func(r *result.Results) {
				for i, run := range r.Runs {
					if run.Stack == "raw/volcano" && run.Round == 2 {
						r.Runs[i].Error = "exit status 1"
					}
				}
			},
			want:   map[string][]int{"raw/volcano": {1, 3}, "ours/volcano": {1, 2, 3}},
			drifts: second, absent: []string{"peer/volcano", "absent/volcano", "other"},
		},
	}
}

func TestPlayed(t *testing.T) {
	for name, tc := range playedCases() {
		t.Run(name, func(t *testing.T) {
			r := fixture()
			tc.change(&r)
			p := playedIn(r, r.Workloads[tc.workload])
			if diff := cmp.Diff(tc.want, counted(p)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.drifts, p.drifts); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.absent, p.absent); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	r := fixture()
	const ours, floor = 1, 0
	for name, tc := range map[string]struct {
		reason      string
		ours, floor []float64 // seconds by round; those from 180 on are cut
		want        stats.Claim
		low, high   float64
	}{
		"slower":   {"by a half", []float64{30, 31, 32}, []float64{20, 20, 20}, stats.Slower, 1.55, 1.55},
		"faster":   {"by a half", []float64{10, 11, 12}, []float64{20, 20, 20}, stats.Faster, 0.55, 0.55},
		"ours cut": {"at least", []float64{180, 180, 180}, []float64{20, 20, 20}, stats.Slower, 9, math.Inf(1)},
		"one cut": {
			"the median is known", []float64{30, 30, 180}, []float64{20, 20, 20}, stats.Slower, 1.5, 1.5,
		},
		"floor cut": {
			"no ratio", []float64{30, 30, 30}, []float64{180, 180, 180}, stats.NoRatio, 0, math.Inf(1),
		},
		"both cut": {
			"no ratio", []float64{180, 180, 180}, []float64{180, 180, 180}, stats.NoRatio, 0, math.Inf(1),
		},
		"floor cut in": {
			"a round is no pair", []float64{30, 30, 30, 30}, []float64{20, 20, 20, 180}, stats.Slower, 1.5, 1.5,
		},
		"two rounds": {"no claim", []float64{180, 180}, []float64{20, 20}, stats.TooFewPairs, 9, math.Inf(1)},
	} {
		t.Run(name, func(t *testing.T) {
			p := played{stacks: []stackRuns{{Stack: r.Stacks[floor]}, {Stack: r.Stacks[ours]}}}
			for i, times := range [][]float64{tc.floor, tc.ours} {
				for round, seconds := range times {
					run := result.Run{Round: round + 1, Seconds: seconds}
					if seconds >= 180 {
						run.CutAfter = seconds
					}
					p.stacks[i].runs = append(p.stacks[i].runs, run)
				}
			}
			got := p.withFloor()[ours]
			if got.Claim != tc.want || got.Median != (stats.Bounds{Low: tc.low, High: tc.high}) {
				t.Errorf("%s of %v, want %s of %v: %s", got.Claim, got.Median, tc.want, tc.low, tc.reason)
			}
		})
	}
}

// TestNoiseOfTheWorkloadCounts: what the raw stack differs by from itself is not claimed of another stack.
func TestNoiseOfTheWorkloadCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		again  float64 // seconds of the raw stack's second run; the first takes 20
		want   stats.Claim
	}{
		"quiet": {"10% are more than 2%", 20.4, stats.Slower},
		"noisy": {"10% are less than 20%", 24, stats.WithinNoise},
		"fast":  {"noise goes both ways", 16, stats.WithinNoise},
	} {
		r := result.Results{Stacks: fixture().Stacks[:2], Workloads: fixture().Workloads[:1]}
		for round := 1; round <= 3; round++ {
			r.Runs = append(r.Runs, placed("raw/volcano", round, 20),
				repeated(placed("raw/volcano", round, tc.again)), placed("ours/volcano", round, 22))
		}
		if got := playedIn(r, r.Workloads[0]).withFloor()[1].Claim; got != tc.want {
			t.Errorf("%s: %s, want %s: %s", name, got, tc.want, tc.reason)
		}
	}
}

// TestSlowedStackIsFound is the check on the harness itself, from results to claim: ours is a raw stack that
// is slowed by 20%, with 5% of noise and 7 rounds; the raw stack's second run is not claimed to differ.
func TestSlowedStackIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	noisy := func(seconds float64) float64 { return seconds * math.Exp(0.05*random.NormFloat64()) }
	found, claimed := 0, 0
	const trials = 40
	for range trials {
		r := result.Results{Stacks: fixture().Stacks[:3], Workloads: fixture().Workloads[:1]}
		for round := 1; round <= 7; round++ {
			r.Runs = append(r.Runs, placed("raw/volcano", round, noisy(20)),
				repeated(placed("raw/volcano", round, noisy(20))),
				placed("ours/volcano", round, noisy(24)), placed("peer/volcano", round, noisy(20)))
		}
		p := playedIn(r, r.Workloads[0])
		comparisons := p.withFloor()
		if comparisons[1].Claim == stats.Slower {
			found++
		}
		if c := comparisons[2].Claim; c == stats.Slower || c == stats.Faster {
			claimed++
		}
	}
	if found < trials*3/4 || claimed > trials/10 {
		t.Errorf("of %d trials the slowed stack is found in %d and the same is claimed to differ in %d", trials,
			found, claimed)
	}
}

func TestClaimOf(t *testing.T) {
	r := fixture()
	for stack, want := range map[string]stats.Claim{
		"ours/volcano": stats.Slower, "raw/volcano": stats.NoRatio, "absent/volcano": stats.NoRatio,
		"no such stack": stats.NoRatio,
	} {
		if got := ClaimOf(r, "burst", stack); got != want {
			t.Errorf("%s: %s, want %s", stack, got, want)
		}
	}
	if got := ClaimOf(r, "no such workload", "ours/volcano"); got != stats.NoRatio {
		t.Errorf("another workload: %s", got)
	}
}

// TestConfigurationsAreCompared with the same stack without, and like with like.
func TestConfigurationsAreCompared(t *testing.T) {
	stacks := fixture().Stacks[:3] // the floor, ours and a peer
	for _, s := range slices.Clone(stacks) {
		s.Name, s.Configuration = s.Name+"@mine", "mine"
		stacks = append(stacks, s)
	}
	r := result.Results{Stacks: stacks, Workloads: fixture().Workloads[:1]}
	for round := range 3 {
		for i, s := range stacks {
			r.Runs = append(r.Runs, placed(s.Name, round+1, 20+float64(2*i)))
		}
	}
	p := playedIn(r, r.Workloads[0])
	pairs := func(all []comparison) (lines []string) {
		for _, c := range all {
			lines = append(lines, fmt.Sprintf("%s %s %s", c.Stack, c.Base, ratio(c.Median)))
		}
		return lines
	}
	if diff := cmp.Diff([]string{
		"raw/volcano@mine raw/volcano 1.30", "ours/volcano@mine ours/volcano 1.27",
		"peer/volcano@mine peer/volcano 1.25",
	}, pairs(p.withShipped())); diff != "" {
		t.Error(diff)
	}
	same, across := p.withPeers()
	if diff := cmp.Diff([]string{
		"ours/volcano peer/volcano 0.92", "ours/volcano@mine peer/volcano@mine 0.93",
	}, pairs(same)); diff != "" || len(across) > 0 {
		t.Error(diff, pairs(across))
	}
}
