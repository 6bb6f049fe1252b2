package preemption

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// cheapest of all covers, by trying every one; 0 and false: there is none.
func cheapest(s *space, list []*candidate) (int64, bool) {
	best, found := int64(0), false
	for set := range 1 << len(list) {
		var chosen []*candidate
		for rest := uint(set); rest != 0; rest &= rest - 1 {
			chosen = append(chosen, list[bits.TrailingZeros(rest)])
		}
		l := s.with(chosen)
		if cost := totalCost(chosen); s.fits() && (!found || cost < best) {
			best, found = cost, true
		}
		l.undo()
	}
	return best, found
}

// TestCoverIsCheapest compares covers with those of an exhaustive search, in many random clusters.
func TestCoverIsCheapest(t *testing.T) {
	const clusters = 100_000 / 8
	r := rand.New(rand.NewPCG(1, 2))
	covered, infeasible, missed, guessed, worst := 0, 0, 0, 0, 1.0
	for range clusters {
		w := randomSnapshot(r, 2+r.IntN(9), 1)
		s := newSpace(w.Nodes, &w.Waiting[0])
		var gangs []*Running
		for i := range w.Running {
			gangs = append(gangs, &w.Running[i])
		}
		deadline := now.Add(w.Waiting[0].MaxDelay)
		list := s.candidates(gangs, func(g *Running) Price { return policy.Cost(g, now, deadline) })
		if s.fits() {
			continue
		}
		want, feasible := cheapest(s, list)
		got := s.cover(list)
		if got == nil && feasible { // roles may compete for a node, see place
			missed++
			continue
		}
		if got == nil {
			infeasible++
			continue
		}
		if l := s.with(got); !s.fits() {
			t.Fatalf("a cover is too small: %+v", w)
		} else {
			l.undo()
		}
		if cost := totalCost(got); cost != want {
			t.Fatalf("a cover costs %d, and the cheapest %d: %+v", cost, want, w)
		}
		covered++
		guess := s.guess(list)
		if ratio := float64(totalCost(guess)) / float64(want); ratio > 1.1 {
			guessed++
			worst = max(worst, ratio)
		}
	}
	t.Logf("%d covers, %d clusters without, %d missed; %d guesses above 1.1 times that, at most %.2f",
		covered, infeasible, missed, guessed, worst)
	if covered < clusters/10 || infeasible < clusters/20 {
		t.Error("the clusters are too easy")
	}
	if missed > covered/100 {
		t.Error("too many are missed")
	}
	if guessed > covered/20 {
		t.Error("guesses are bad")
	}
}
