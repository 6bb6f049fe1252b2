package reservation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestRecall: lent capacity is recalled when the head fits with it, and no gang leaves in vain.
func TestRecall(t *testing.T) {
	lentGang := func(s *Snapshot, name string, how How, node int) *Running {
		g := s.runs(name, 99*time.Hour, node)
		g.Pass = &Pass{How: how, Until: now.Add(-10 * time.Minute)}
		return g
	}
	for name, tc := range map[string]struct {
		reason string
		given  func(*Snapshot)
		want   []preemption.Ref
	}{
		"lent": {"with it the head fits", func(s *Snapshot) {
			lentGang(s, "l", Lent, 1)
		}, []preemption.Ref{ref("l")}},
		"not yet": {"node-1 is not free, too", func(s *Snapshot) {
			lentGang(s, "l", Lent, 0)
			s.Nodes[0].Free[gpu] = 0
			s.runs("a", time.Hour, 1)
		}, nil},
		"late": {"the other gang is late, and still there", func(s *Snapshot) {
			lentGang(s, "l", Lent, 0)
			s.Nodes[0].Free[gpu] = 0
			s.runs("a", time.Hour, 1).End = now.Add(-time.Minute)
		}, nil},
		"overstays": {"50 minutes were its time, and it has run for 65", func(s *Snapshot) {
			lentGang(s, "l", EndsBefore, 1).Began = now.Add(-65 * time.Minute)
			s.Running[0].Pass.Until = now.Add(-15 * time.Minute)
		}, []preemption.Ref{ref("l")}},
		"within the margin": {"50 minutes were its time, and it has run for 60", func(s *Snapshot) {
			lentGang(s, "l", EndsBefore, 1)
		}, nil},
		"other nodes": {"it never agreed to leave", func(s *Snapshot) {
			lentGang(s, "l", OtherNodes, 1)
		}, nil},
		"higher value": {"it goes before the head", func(s *Snapshot) {
			lentGang(s, "l", Lent, 1).Value = 1
		}, nil},
		"leaves already": {"the head waits for it", func(s *Snapshot) {
			lentGang(s, "l", Lent, 1).Ending = true
		}, nil},
		"one of two": {"the head fits without the second", func(s *Snapshot) {
			lentGang(s, "l", Lent, 1)
			lentGang(s, "m", Lent, 2)
		}, []preemption.Ref{ref("l")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(8, 0, 0, 0)
			tc.given(&s)
			s.waits("head", 2).reserves("node-0", "node-1")
			var got []preemption.Ref
			for _, r := range policy.Pass(s).Recalls {
				got = append(got, r.Victims...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// TestQuotaBesideAReservation: a gang of the same quota passes within what the head leaves at its time.
func TestQuotaBesideAReservation(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		free   int64
		queue  string
		held   bool
	}{
		"too little": {"8 are free, 16 come back, and the head needs 24", 8, "quota", true},
		"enough":     {"16 are free, 16 come back, and the head needs 24", 16, "quota", false},
		"another":    {"it uses another quota, which has enough", 8, "other", false},
	} {
		s := cluster(0)
		s.Budgets = []preemption.Node{
			{Name: "quota", Free: scheduler.Amounts{gpu: tc.free}}, {Name: "other", Free: scheduler.Amounts{gpu: 8}},
		}
		s.runs("a", time.Hour).Holds["quota"] = scheduler.Amounts{gpu: 16}
		head, after := *s.waits("head", 3).reserves(), *s.waits("after", 1)
		head.Within, after.Within = []string{"quota"}, []string{tc.queue}
		head.Needs[0].Nodes, after.Needs[0].Nodes = nil, nil // on Kueue, quotas decide
		head.Reservation = &Reservation{Phase: Kept, Since: now}
		s.Waiting = []Waiting{head, after}
		r := policy.Pass(s)
		if _, held := r.Held[after.Ref]; held != tc.held {
			t.Errorf("%s: held %t, want %t: %s", name, held, tc.held, tc.reason)
		}
	}
}

// TestDryRunHoldsNoGang: the reservation is reported only.
func TestDryRunHoldsNoGang(t *testing.T) {
	s, _ := crowd(2*time.Hour, 2)
	dry := policy
	dry.DryRun = true
	r := dry.Pass(s)
	if len(r.Held)+len(r.Passes)+len(r.Recalls) > 0 || r.Reservations[ref("head")].Phase != Planned {
		t.Errorf("%+v, want a planned reservation and no effect", r)
	}
	s.write(&r)
	if r = policy.Pass(s); len(r.Held) > 0 || r.Reservations[ref("head")].Phase != Kept {
		t.Errorf("%+v, want a reservation that is kept once it is written", r)
	}
}
