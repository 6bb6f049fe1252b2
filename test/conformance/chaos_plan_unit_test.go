package conformance

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPlanFaults(t *testing.T) {
	plan := func(seed uint64) []Fault { return PlanFaults(rand.New(rand.NewPCG(seed, 0)), 2000, AllFaults()) }
	if !slices.Equal(plan(1), plan(1)) {
		t.Error("one seed, two plans")
	}
	if slices.Equal(plan(1), plan(2)) {
		t.Error("two seeds, one plan")
	}
	seen := Tally{}
	for _, f := range plan(3) {
		seen[f]++
	}
	for _, f := range AllFaults() {
		if seen[f] == 0 {
			t.Errorf("%s never comes", f)
		}
	}
	if seen.Total() != 2000 {
		t.Errorf("%d faults, not 2000", seen.Total())
	}
}

func TestParseFaults(t *testing.T) {
	got, err := ParseFaults("operator,node-killed")
	if err != nil || !slices.Equal(got, []Fault{KillOperator, KillNode}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, f := range PlanFaults(rand.New(rand.NewPCG(1, 0)), 50, got) {
		if !slices.Contains(got, f) {
			t.Errorf("%s was not asked for", f)
		}
	}
	if all, err := ParseFaults("all"); err != nil || len(all) != len(faultWeights) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := ParseFaults("operator,earthquake"); err == nil {
		t.Error("an unknown fault is taken")
	}
}
