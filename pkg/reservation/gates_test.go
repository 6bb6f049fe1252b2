package reservation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestUngate: the rules for the gates of one lane.
func TestUngate(t *testing.T) {
	const limit = scheduler.MaxUngated
	for name, c := range map[string]struct {
		reason string
		edit   func(i int, g *Gated)
		want   []int
	}{
		"all wait": {
			"the scheduler compares the first ones only", func(int, *Gated) {}, upTo(0, limit),
		},
		"held": {
			"a held gang keeps its gate, and does not count", func(i int, g *Gated) { g.Held = i < 5 },
			upTo(5, limit+5),
		},
		"all held": {
			"nothing opens", func(_ int, g *Gated) { g.Held = true }, nil,
		},
		"open before": {
			"open ones count: as one of them starts, the next one opens",
			func(i int, g *Gated) { g.Closed = i >= 10 }, upTo(10, limit),
		},
		"open after": {
			"a gang that returns after a preemption has no gate, and does not delay those before it",
			func(i int, g *Gated) { g.Closed = i < 30 }, upTo(0, limit),
		},
		"not admissible": {
			"it keeps its gate and does not count: a user can activate all of them at once",
			func(i int, g *Gated) { g.NotAdmissible = i < 5 }, upTo(5, limit+5),
		},
		"fit behind large ones": {
			"small gangs still overtake large ones", func(i int, g *Gated) { g.Fits = i >= 20 },
			append(upTo(0, limit), upTo(20, 20+limit)...),
		},
		"higher value later": {
			"a gang of a higher value never waits behind lower ones, open or closed",
			func(i int, g *Gated) {
				g.Closed = i >= limit
				if i == 39 {
					g.Value = 100
				}
			}, []int{39},
		},
		"equal": {
			"the UID decides among gangs of one second", func(i int, g *Gated) { g.Since = time.Time{} },
			upTo(0, limit),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lane []Gated
			for i := range 40 {
				g := Gated{Ref: gatedRef(i), Since: time.Unix(int64(i), 0), Closed: true}
				c.edit(i, &g)
				lane = append(lane, g)
			}
			slices.Reverse(lane) // the order of the input does not matter
			var want []preemption.Ref
			for _, i := range c.want {
				want = append(want, gatedRef(i))
			}
			got := Ungate(lane)
			slices.SortFunc(got, func(a, b preemption.Ref) int { return slices.Compare([]byte(a.UID), []byte(b.UID)) })
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", c.reason, got, want)
			}
		})
	}
}

// TestUngateServesAll: gangs that start make place for the next ones, until all have started. At no time are
// more than the limit open.
func TestUngateServesAll(t *testing.T) {
	var lane []Gated
	for i := range 100 {
		lane = append(lane, Gated{Ref: gatedRef(i), Since: time.Unix(int64(i), 0), Closed: true})
	}
	for started := 0; len(lane) > 0; started++ {
		for _, ref := range Ungate(lane) {
			lane[slices.IndexFunc(lane, func(g Gated) bool { return g.Ref == ref })].Closed = false
		}
		open := 0
		for i := range lane {
			if !lane[i].Closed {
				open++
			}
		}
		if want := min(scheduler.MaxUngated, len(lane)); open != want {
			t.Fatalf("after %d starts %d of %d gates are open, want %d", started, open, len(lane), want)
		}
		lane = lane[1:]
	}
}

// TestGateIgnored: no reservation is kept where the scheduler ignores gates. The gang gets one again after
// the scheduler reports that it obeys.
func TestGateIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		gates   scheduler.Gate
		written *Reservation
		dryRun  bool
		want    Phase
		why     Reason
	}{
		"unknown":      {"no gate was seen yet", "", nil, false, Kept, ""},
		"obeys":        {"it can hold gangs", scheduler.GateBlocks, nil, false, Kept, ""},
		"ignores":      {"it cannot", scheduler.GateIgnored, nil, false, Lapsed, GateIgnored},
		"dry run":      {"nothing is held in any case", scheduler.GateIgnored, nil, true, Planned, ""},
		"ignores, had": {"it was disabled", scheduler.GateIgnored, keptSince(now), false, Lapsed, GateIgnored},
		"still unknown": {
			"no gate is left to show it", "", lapsedSince(now.Add(-48 * time.Hour)), false, Lapsed, GateIgnored,
		},
		"obeys again": {
			"the feature was enabled", scheduler.GateBlocks, lapsedSince(now.Add(-time.Minute)), false, Kept, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(8, 8, 0, 0)
			s.runs("small", time.Hour, 2)
			s.runs("other", 2*time.Hour, 3)
			g := s.waits("large", 3).reserves()
			g.Reservation, s.Gates = c.written, c.gates
			p := policy
			p.DryRun, p.MaxSharePercent = c.dryRun, 100
			got := p.Pass(s).Reservations[g.Ref]
			if got == nil || got.Phase == Lapsed != (c.want == Lapsed) || got.Reason != c.why {
				t.Fatalf("%s: got %+v, want %s %s", c.reason, got, c.want, c.why)
			}
			s.write(&Result{Reservations: map[preemption.Ref]*Reservation{g.Ref: got}})
			s.Now = s.Now.Add(time.Second)
			if again := p.Pass(s).Reservations[g.Ref]; c.want == Lapsed && !again.Equal(got) {
				t.Errorf("%s: it is written again: %+v", c.reason, again)
			}
		})
	}
}

func keptSince(at time.Time) *Reservation { return &Reservation{Phase: Kept, Since: at, Changed: at} }

func lapsedSince(at time.Time) *Reservation {
	return &Reservation{Phase: Lapsed, Reason: GateIgnored, Since: at, Changed: at}
}

func gatedRef(i int) preemption.Ref { return preemption.Ref{UID: types.UID(fmt.Sprintf("%03d", i))} }

func upTo(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}
