//go:build cluster

package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler/fake"
)

// The operator dies before and after each of its writes in a preempt-and-return cycle, a new one starts, and the outcome
// is the same. On the fake in every run; with -crash-on on real schedulers too, where the points come one after the other.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	if crashesOn(fakeDialect(fake.Habits{})) {
		t.Run("fake", func(t *testing.T) { crashEverywhere(t, w, fakeDialect(fake.Habits{})) })
		// Part of a gang is evicted at a time: what is left of the gang is the operator's to end.
		t.Run("fake that evicts part", func(t *testing.T) {
			crashEverywhere(t, w, fakeDialect(fake.Habits{Options: []fake.Option{fake.EvictsPart}}))
		})
	}
	for _, d := range []*dialect{nativeDialect(), volcanoDialect(), coschedulingDialect(), kueueDialect()} {
		if crashesOn(d) {
			t.Run(d.name, func(t *testing.T) {
				realNodes.Lock()
				defer realNodes.Unlock()
				crashEverywhere(t, worldOf(t, d), d)
			})
		}
	}
}

// crashesOn says whether the flag names the scheduler.
func crashesOn(d *dialect) bool {
	name, _, _ := strings.Cut(d.name, "+")
	return slices.Contains(strings.Split(*crashOn, ","), name)
}

func crashEverywhere(t *testing.T, w *world, d *dialect) {
	steps := cycle(asked{name: "low", ranks: 3, gpus: 8, class: low}, asked{name: "high", ranks: 2, gpus: 8, class: high})
	begin := time.Now()
	want, err := attemptScenario(t.Context(), w, d, steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	points := AllCrashes(want.writes)
	t.Run("points", func(t *testing.T) {
		for _, point := range points {
			t.Run(point.String(), func(t *testing.T) {
				if d.habits != nil {
					t.Parallel()
				}
				got, err := attemptScenario(t.Context(), w, d, steps, []Crash{point})
				if err != nil {
					t.Fatal(err)
				}
				if got.state != want.state {
					t.Errorf("the outcome is\n%s\nand was, undisturbed,\n%s", got.state, want.state)
				}
			})
		}
	})
	t.Logf("%d writes, %d crash points: %.0f s; the outcome of each:\n%s", want.writes, len(points), time.Since(begin).Seconds(), want.state)
}
