//go:build cluster

package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// mutantTimeout is several times what the scenarios' steps take.
const mutantTimeout = 30 * time.Second

// TestMutants proves that the suite can fail: on a scheduler with a defect the scenario named in
// testdata/mutants.txt must fail for the named reason.
func TestMutants(t *testing.T) {
	t.Parallel()
	cluster := sharedCluster(t)
	caughtBy, err := ReadMap("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Scenario{}
	for _, s := range scenarios() {
		byName[s.name] = s
	}
	t.Run("caught", func(t *testing.T) {
		for _, mutant := range fakescheduler.Mutants() {
			t.Run(string(mutant), func(t *testing.T) {
				t.Parallel()
				name, because, _ := strings.Cut(caughtBy[string(mutant)], ": ")
				s, ok := byName[name]
				if !ok || because == "" {
					t.Fatal("testdata/mutants.txt does not name a scenario, and how it fails, for it")
				}
				d := fakeDialect(fakescheduler.Behavior{Mutants: []fakescheduler.Mutant{mutant}})
				d.timeout = mutantTimeout
				_, err := attemptScenario(inTime(t), cluster, d.as(s), s.steps, nil)
				if err == nil {
					t.Fatalf("scenario %s passes on a scheduler that %s", s.name, mutant)
				}
				why, _, _ := strings.Cut(err.Error(), "\n")
				// A defect that keeps changing the cluster shows in more than one way, depending on timing.
				if !slices.ContainsFunc(strings.Split(because, " | "),
					func(b string) bool { return strings.Contains(why, b) }) {
					t.Fatalf("scenario %s fails, but not because of %q: %v", s.name, because, err)
				}
				t.Logf("%s: %s", s.name, why)
			})
		}
	})
	if len(caughtBy) != len(fakescheduler.Mutants()) {
		t.Errorf("testdata/mutants.txt names %d mutants, the fake has %d", len(caughtBy),
			len(fakescheduler.Mutants()))
	}
}
