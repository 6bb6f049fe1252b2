package rounds

import (
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const raw, ours = "raw/volcano", "ours/volcano"

func onVolcano(workloads ...string) *Benchmark {
	b := &Benchmark{
		Stacks: []stack.Stack{stack.Raw(localcluster.SchedulerVolcano), stack.Ours(localcluster.SchedulerVolcano)},
		Rounds: 3, CutFactor: 5,
	}
	for _, name := range workloads {
		b.Workloads = append(b.Workloads, workload.Workload{Name: name, Cut: 5 * time.Minute})
	}
	return b
}

// TestCut: what takes many times as long as the floor needs no exact figure.
func TestCut(t *testing.T) {
	b := onVolcano("burst")
	results := &result.Results{Runs: []result.Run{
		{Stack: raw, Workload: "burst", Round: 1, Seconds: 20},
		{Stack: raw, Workload: "burst", Round: 1, Repeat: 1, Seconds: 30},
		{Stack: raw, Workload: "burst", Round: 3, Seconds: 40},
		{Stack: raw, Workload: "burst", Round: 2, Seconds: 90, Error: "it broke"},
		{Stack: raw, Workload: "quick", Round: 1, Seconds: 2},
		{Stack: raw, Workload: "slow", Round: 1, Seconds: 100},
	}}
	for name, tc := range map[string]struct {
		reason, stack, workload string
		round                   int
		want                    time.Duration
	}{
		"the floor":        {"it has no floor", raw, "burst", 2, 5 * time.Minute},
		"round 1":          {"the longest of the floor's", ours, "burst", 1, 150 * time.Second},
		"round 3":          {"later rounds know more", ours, "burst", 3, 200 * time.Second},
		"a quick one":      {"some time at least", ours, "quick", 1, leastCut},
		"a slow one":       {"never more than the workload's own", ours, "slow", 1, 5 * time.Minute},
		"nothing is known": {"the floor could not be played", ours, "idle", 1, 5 * time.Minute},
	} {
		w := workload.Workload{Name: tc.workload, Cut: 5 * time.Minute}
		if got := b.cut(results, tc.round, tc.stack, raw, w); got != tc.want {
			t.Errorf("%s: cut after %s, want %s: %s", name, got, tc.want, tc.reason)
		}
	}
	b.CutFactor = 0
	if got := b.cut(results, 1, ours, raw, b.Workloads[0]); got != 5*time.Minute {
		t.Errorf("without a factor: %s", got)
	}
}

// TestMissing: an interrupted benchmark continues, and repeats failed turns.
func TestMissing(t *testing.T) {
	b := onVolcano("burst", "storm")
	results := &result.Results{}
	replace(results, result.Run{Stack: raw, Workload: "burst", Round: 1})
	replace(results, result.Run{Stack: raw, Workload: "storm", Round: 1, Error: "it broke"})
	names := func(turn Turn) (names []string) {
		for _, w := range b.missing(results, turn) {
			names = append(names, w.Name)
		}
		return names
	}
	for _, tc := range []struct {
		turn Turn
		want []string
	}{
		{Turn{Round: 1, Stack: 0}, []string{"storm"}},
		{Turn{Round: 1, Stack: 0, Repeat: 1}, []string{"burst", "storm"}},
		{Turn{Round: 2, Stack: 0}, []string{"burst", "storm"}},
		{Turn{Round: 1, Stack: 1}, []string{"burst", "storm"}},
	} {
		if got := names(tc.turn); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc.turn, got, tc.want)
		}
	}
	replace(results, result.Run{Stack: raw, Workload: "storm", Round: 1, Seconds: 7})
	if len(results.Runs) != 2 || results.Runs[1].Error != "" {
		t.Errorf("the runs are %+v", results.Runs)
	}
	if got := names(Turn{Round: 1, Stack: 0}); got != nil {
		t.Errorf("all is there, and missing are %q", got)
	}
}
