package liveness

import (
	"fmt"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// simulateCluster plays the bounds of restarts and of excluded nodes, and returns which ones do not hold.
func simulateCluster(on rules) (failures []string) {
	for _, tc := range []struct {
		name  string
		mode  v1alpha1.LivenessMode
		vain  bool
		jobs  int // that hang again and again
		all   int // that are watched and run
		apart time.Duration
		want  int // restarts
	}{
		{"Warn", v1alpha1.LivenessWarn, false, 1, 100, time.Hour, 0},
		{"always the same step", v1alpha1.LivenessAct, true, 1, 100, time.Hour, 2},
		{"again and again", v1alpha1.LivenessAct, false, 1, 100, time.Hour, 3},
		{"14 of 40 together", v1alpha1.LivenessAct, false, 14, 40, 0, 0},
		{"8 of 100 together", v1alpha1.LivenessAct, false, 8, 100, 0, 5},
		{"5 of 40 together", v1alpha1.LivenessAct, false, 5, 40, 0, 3},
	} {
		if got := restarts(tc.mode, tc.vain, tc.jobs, tc.all, tc.apart, on); got != tc.want {
			failures = append(failures, fmt.Sprintf("%s: %d restarts, want %d", tc.name, got, tc.want))
		}
	}
	return append(failures, simulateMemory(on)...)
}

// restarts of jobs that hang five times, or once if they hang together.
func restarts(mode v1alpha1.LivenessMode, vain bool, jobs, all int, apart time.Duration, on rules) (n int) {
	hangs := 5
	if apart == 0 {
		hangs = 1
	}
	for range jobs {
		var own, inVain int32
		for range hangs {
			c := Case{
				Mode: mode, Verdict: Verdict{State: v1alpha1.LivenessHung, Limit: time.Hour}, Hung: time.Hour,
				Leads: time.Hour, LongPhase: time.Hour, Restarts: own, MaxRestarts: 3, InVain: inVain,
				Hangs: func() Hangs {
					if apart > 0 {
						return Hangs{Watched: all, Running: all, Together: 1}
					}
					return Hangs{Watched: all, Running: all, Together: jobs, Restarts: n}
				},
			}
			if mayRestart(c, on).Restarts() {
				n, own = n+1, own+1
				if vain {
					inVain++
				}
			}
		}
	}
	return n
}

// simulateMemory plays what is kept over weeks and over hangs.
func simulateMemory(on rules) (failures []string) {
	if got := halved(time.Hour, 15*24*time.Hour, on); got != 15*time.Minute {
		failures = append(failures, fmt.Sprintf("a pause of 1h counts as %v after two weeks", got))
	}
	var named []v1alpha1.NamedNode
	excluded, want := 0, 0
	for hang, node := range []string{"a", "b", "a", "b", "c", "c"} {
		named = NameNode(named, v1alpha1.NamedNode{Name: node})
		if excludeNode(named, node, excluded, on) {
			excluded++
		}
		if hang == 2 || hang == 3 {
			want++
		}
		if excluded != want {
			failures = append(failures, fmt.Sprintf("hang %d: %d nodes are excluded, want %d", hang, excluded, want))
		}
	}
	return failures
}

// TestEachRuleIsNeeded plays the simulation without each of the rules: something must go wrong.
func TestEachRuleIsNeeded(t *testing.T) {
	n := 0
	for rule := rules(1); rule < pastRules; rule <<= 1 {
		n++
		if failures := simulate(mutatedPauses, mutatedPauses, allRules&^rule, 1); len(failures) == 0 {
			t.Errorf("rule %d of the list is not needed", n)
		}
	}
}
