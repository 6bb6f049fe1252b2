package reservation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestReserveKeepsTheNodesOfTheEarliestTime: which nodes a gang gets, and from when.
func TestReserveKeepsTheNodesOfTheEarliestTime(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		given  func() Snapshot
		want   *Reservation
	}{
		"ends": {
			"it fits when the second of three gangs ends, and leaves the free node to others",
			func() Snapshot {
				s := cluster(8, 0, 0, 0, 0)
				s.runs("a", time.Hour, 1)
				s.runs("b", 2*time.Hour, 2)
				s.runs("c", 3*time.Hour, 3, 4)
				s.waits("head", 2).reserves()
				return s
			},
			&Reservation{Phase: Kept, Time: now.Add(time.Hour), Nodes: []string{"node-0", "node-1"}},
		},
		"latest first": {
			"two nodes are free now and two at the same time: those stay free for others",
			func() Snapshot {
				s := cluster(8, 8, 0, 0, 0, 0)
				s.runs("a", time.Hour, 2, 3, 4)
				s.runs("b", 9*time.Hour, 5)
				s.waits("head", 3).reserves()
				return s
			},
			&Reservation{Phase: Kept, Time: now.Add(time.Hour), Nodes: []string{"node-2", "node-3", "node-4"}},
		},
		"unknown": {
			"no known end frees enough: the time is unknown, and the gang that began last is expected first",
			func() Snapshot {
				s := cluster(8, 0, 0, 0)
				s.runs("old", 0, 1)
				s.runs("young", 0, 2).Began = now.Add(-time.Minute)
				s.runs("older", 0, 3).Began = now.Add(-2 * time.Hour)
				s.waits("head", 2).reserves()
				return s
			},
			&Reservation{Phase: Kept, Nodes: []string{"node-0", "node-2"}},
		},
		"overdue": {
			"a gang that runs longer than its forecast probably runs for another tenth",
			func() Snapshot {
				s := cluster(0, 0)
				s.runs("a", time.Hour, 0).End = now.Add(-time.Minute)
				s.waits("head", 1).reserves()
				return s
			},
			&Reservation{Phase: Kept, Time: now.Add(6 * time.Minute), Nodes: []string{"node-0"}},
		},
		"foreign pods": {
			"a node that no gang holds stays full",
			func() Snapshot {
				s := cluster(8, 0, 0, 0)
				s.runs("a", time.Hour, 1)
				s.waits("head", 3).reserves()
				return s
			},
			nil,
		},
		"too many nodes": {
			"it needs more than half of the nodes",
			func() Snapshot {
				s := cluster(0, 0, 0)
				s.runs("a", time.Hour, 0, 1, 2)
				s.waits("head", 2).reserves()
				return s
			},
			nil,
		},
		"fits": {
			"it fits now, so its scheduler places it",
			func() Snapshot {
				s := cluster(8, 8, 0, 0)
				s.waits("head", 2).reserves()
				return s
			},
			nil,
		},
		"too early": {
			"it has lacked capacity for less than its class demands",
			func() Snapshot {
				s := cluster(0, 0)
				s.runs("a", time.Hour, 0)
				s.waits("head", 1).reserves().Blocked = now.Add(-time.Minute)
				return s
			},
			nil,
		},
		"quota": {
			"the nodes are free, and the quota in an hour",
			func() Snapshot {
				s := cluster(8, 8, 8, 0)
				s.Budgets = []preemption.Node{{Name: "quota", Free: scheduler.Amounts{gpu: 0}}}
				s.runs("a", time.Hour, 3).Holds["quota"] = scheduler.Amounts{gpu: 8}
				s.waits("head", 1).reserves().Within = []string{"quota"}
				return s
			},
			&Reservation{Phase: Kept, Time: now.Add(time.Hour), Nodes: []string{"node-3"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.given()
			got := policy.Pass(s).Reservations[ref("head")]
			if tc.want != nil {
				tc.want.Since, tc.want.Changed = now, now
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// crowd is a head that waits for two nodes until a time, with node-0 free and kept, and node-3 free and not
// kept, and a gang after it.
func crowd(ends time.Duration, ranks int64) (s Snapshot, after *Waiting) {
	s = cluster(8, 0, 0, 8, 0, 0)
	s.runs("a", ends, 1, 2)
	s.runs("b", 99*time.Hour, 4, 5)
	s.waits("head", 3).reserves("node-0", "node-1", "node-2")
	return s, s.waits("after", ranks)
}

// TestPassesOfLaterGangs: how a gang after the head may start.
func TestPassesOfLaterGangs(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Snapshot, *Waiting)
		ranks  int64
		want   *Pass
		held   bool
	}{
		"other nodes": {
			"node-3 is free and not kept", func(*Snapshot, *Waiting) {}, 1,
			&Pass{How: OtherNodes, KeepsOff: []string{"node-0", "node-1", "node-2"}}, false,
		},
		"other nodes, without a way to keep off": {
			"its scheduler may bind it on node-0", func(_ *Snapshot, g *Waiting) { g.KeepsOff = false }, 1, nil, true,
		},
		"held": {"it would use node-0", func(*Snapshot, *Waiting) {}, 2, nil, true},
		"ends before": {
			"its deadline is before the head's time", func(_ *Snapshot, g *Waiting) { g.Bound = time.Hour }, 2,
			&Pass{How: EndsBefore, Until: now.Add(time.Hour)}, false,
		},
		"ends after": {
			"its deadline is later", func(_ *Snapshot, g *Waiting) { g.Bound = 3 * time.Hour }, 2, nil, true,
		},
		"measured, with the margin": {
			"1h40m and a quarter are later than 2h", func(_ *Snapshot, g *Waiting) {
				g.Bound, g.Measured = 100*time.Minute, true
			}, 2, nil, true,
		},
		"lent": {
			"it leaves on request", func(_ *Snapshot, g *Waiting) { g.Lendable = true }, 2,
			&Pass{How: Lent, Until: now.Add(2 * time.Hour)}, false,
		},
		"lent too shortly": {
			"its start takes an hour, so it would hardly train",
			func(_ *Snapshot, g *Waiting) { g.Lendable, g.Start = true, time.Hour }, 2, nil, true,
		},
		"recalled too often": {
			"it has left three times", func(_ *Snapshot, g *Waiting) { g.Lendable, g.Recalls = true, 3 }, 2, nil, true,
		},
		"higher value": {
			"it goes first", func(_ *Snapshot, g *Waiting) { g.Value = 1 }, 2, nil, false,
		},
		"held for long enough": {
			"it was held for as long as is allowed",
			func(_ *Snapshot, g *Waiting) { g.Hold = Hold{Before: policy.MaxHold} }, 2, nil, false,
		},
		"elsewhere": {
			"it cannot use the kept nodes",
			func(_ *Snapshot, g *Waiting) { g.Needs[0].Nodes = []string{"node-3", "node-4"} }, 2, nil, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, after := crowd(2*time.Hour, tc.ranks)
			tc.change(&s, after)
			r := policy.Pass(s)
			if diff := cmp.Diff(tc.want, r.Passes[after.Ref]); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if held, is := r.Held[after.Ref]; is != tc.held || is && (held.For != ref("head") || !held.Fits) {
				t.Errorf("%s: held %t %+v, want %t", tc.reason, is, held, tc.held)
			}
		})
	}
}

// TestPassesShareWhatIsLeft: two gangs do not get the same node in one pass.
func TestPassesShareWhatIsLeft(t *testing.T) {
	s, first := crowd(2*time.Hour, 1)
	second := s.waits("second", 1)
	r := policy.Pass(s)
	if r.Passes[first.Ref] == nil || r.Passes[second.Ref] != nil {
		t.Errorf("passes %v, want one for the first", r.Passes)
	}
	if held, is := r.Held[second.Ref]; !is || !held.Fits {
		t.Errorf("the second is held: %t %+v, want held although it fits on node-0", is, held)
	}
}

// TestWrittenPassStandsUntilItIsFalse: a pass is not withdrawn while it is true.
func TestWrittenPassStandsUntilItIsFalse(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pass   Pass
		bound  time.Duration
		stands bool
	}{
		"ends before": {"it still ends before", Pass{How: EndsBefore, Until: now}, time.Hour, true},
		"too late":    {"it has waited too long", Pass{How: EndsBefore, Until: now}, 3 * time.Hour, false},
		"lent":        {"it agreed to leave", Pass{How: Lent}, 0, true},
		"off": {
			"it keeps off", Pass{How: OtherNodes, KeepsOff: []string{"node-0", "node-1", "node-2"}}, 0, true,
		},
		"moved": {"node-1 is kept since", Pass{How: OtherNodes, KeepsOff: []string{"node-0"}}, 0, false},
	} {
		s, after := crowd(2*time.Hour, 2)
		after.Pass, after.Bound = &tc.pass, tc.bound
		if got := policy.Pass(s).Passes[after.Ref] != nil; got != tc.stands {
			t.Errorf("%s: stands %t, want %t: %s", name, got, tc.stands, tc.reason)
		}
	}
}

// TestReservationStaysOnItsNodes: it moves only if other nodes are free clearly earlier, or one is lost.
func TestReservationStaysOnItsNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		other  time.Duration
		lost   bool
		moved  int
	}{
		"a little earlier": {"55 minutes are not a fifth earlier than 60", 55 * time.Minute, false, 0},
		"clearly earlier":  {"40 minutes are", 40 * time.Minute, false, 1},
		"lost":             {"node-0 is gone", 2 * time.Hour, true, 1},
	} {
		s := cluster(0, 0, 0, 0)
		s.runs("kept", time.Hour, 0)
		s.runs("other", tc.other, 1)
		s.waits("head", 1).reserves("node-0")
		if tc.lost {
			s.Nodes[0].Name = "another"
			s.Waiting[0].Needs[0].Nodes = s.Waiting[0].Needs[0].Nodes[1:]
		}
		r := policy.Pass(s).Reservations[ref("head")]
		if r == nil || r.Moved != tc.moved || (r.Nodes[0] == "node-0") != (tc.moved == 0) {
			t.Errorf("%s: %+v, want moved %d: %s", name, r, tc.moved, tc.reason)
		}
	}
}

// TestLapsedReservation: it ends at its greatest age, and its gang gets none for as long as it had.
func TestLapsedReservation(t *testing.T) {
	s := cluster(0, 0)
	s.runs("a", time.Hour, 0)
	head := s.waits("head", 1).reserves("node-0")
	head.Reservation.Since = now.Add(-policy.MaxAge)
	r := policy.Pass(s)
	lapsed := r.Reservations[head.Ref]
	if lapsed == nil || lapsed.Phase != Lapsed || lapsed.Reason != TooOld || len(lapsed.Nodes) > 0 {
		t.Fatalf("%+v, want lapsed", lapsed)
	}
	s.write(&r)
	for after, want := range map[time.Duration]Phase{policy.MaxAge - time.Second: Lapsed, policy.MaxAge: Kept} {
		s.Now = now.Add(after)
		s.Running[0].End = s.Now.Add(time.Hour)
		if got := policy.Pass(s).Reservations[head.Ref]; got.Phase != want {
			t.Errorf("%s later: %s, want %s", after, got.Phase, want)
		}
	}
	s.Now = now
	s.Waiting[0].Reservation = &Reservation{Phase: Kept, Nodes: []string{"node-0"}, Since: now}
	s.Waiting[0].Needs[0].Ranks = 3
	if got := policy.Pass(s).Reservations[head.Ref]; got.Phase != Lapsed || got.Reason != DoesNotFit {
		t.Errorf("%+v, want lapsed since it does not fit", got)
	}
}

// TestUnusedCapacityIsReleasedForOnePass: others may start if the head's scheduler does not place it.
func TestUnusedCapacityIsReleasedForOnePass(t *testing.T) {
	s := cluster(8, 8, 0, 0)
	s.waits("head", 2).reserves("node-0", "node-1")
	after := s.waits("after", 1)
	var held []bool
	for range 5 {
		r := policy.Pass(s)
		_, is := r.Held[after.Ref]
		held = append(held, is)
		s.write(&r)
		s.Now = s.Now.Add(policy.Placing / 2)
	}
	if diff := cmp.Diff([]bool{true, true, false, true, false}, held); diff != "" {
		t.Errorf("held in passes each half of Placing: %s", diff)
	}
	if phase := s.Waiting[0].Reservation.Phase; phase != Due {
		t.Errorf("phase %s, want Due", phase)
	}
}
