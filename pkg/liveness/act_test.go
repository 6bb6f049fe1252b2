package liveness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestMayRestart has the bounds of A6 and A9.
func TestMayRestart(t *testing.T) {
	const minute = time.Minute
	for name, tc := range map[string]struct {
		reason string
		change func(*Case, *Hangs)
		want   Choice
	}{
		"yes": {"nothing forbids it", func(*Case, *Hangs) {}, Choice{}},
		"slow": {"only hangs", func(c *Case, _ *Hangs) { c.Verdict.State = v1alpha1.LivenessSlow },
			Choice{HoldNotHung, 0}},
		"warn": {"only mode Act", func(c *Case, _ *Hangs) { c.Mode = v1alpha1.LivenessWarn }, Choice{HoldMode, 0}},
		"spent": {"maxRestarts", func(c *Case, _ *Hangs) { c.Restarts = 3 },
			Choice{HoldMaxRestarts, 0}},
		"in vain": {"two in a row", func(c *Case, _ *Hangs) { c.InVain = 2 }, Choice{HoldInVain, 0}},
		"reported": {"rank 0 has just reported a newer step", func(c *Case, _ *Hangs) {
			c.ReportedStep, c.ReportedAge = step(101), 5*minute
		}, Choice{HoldReported, 10 * minute}},
		"reported long ago": {"no progress now", func(c *Case, _ *Hangs) {
			c.ReportedStep, c.ReportedAge = step(101), 15*minute
		}, Choice{}},
		"reported the same": {"no newer step", func(c *Case, _ *Hangs) { c.ReportedStep = step(100) }, Choice{}},
		"young leader": {"10 minutes", func(c *Case, _ *Hangs) { c.Leads = 9 * minute },
			Choice{HoldLeader, minute}},
		"first verdict": {"two verdicts, a minute apart", func(c *Case, _ *Hangs) { c.Hung = 50 * time.Second },
			Choice{HoldUnconfirmed, 10 * time.Second}},
		"active": {"a rank moves data", func(c *Case, _ *Hangs) { c.Verdict.Active = true },
			Choice{HoldActive, minute}},
		"active for long": {"longPhaseSeconds at most", func(c *Case, _ *Hangs) {
			c.Verdict.Active, c.Hung = true, 4*time.Hour
		}, Choice{}},
		"three of fifteen together": {"a shared cause", func(_ *Case, h *Hangs) { h.Together, h.Watched = 3, 15 },
			Choice{HoldSharedCause, minute}},
		"three of sixteen together": {"less than 20%", func(_ *Case, h *Hangs) { h.Together, h.Watched = 3, 16 },
			Choice{}},
		"two of two together": {"less than 3", func(_ *Case, h *Hangs) { h.Together, h.Watched = 2, 2 }, Choice{}},
		"three restarts": {"3 in 10 minutes", func(_ *Case, h *Hangs) { h.Restarts = 3 },
			Choice{HoldRate, minute}},
		"three of eighty": {"5% of the gangs", func(_ *Case, h *Hangs) { h.Restarts, h.Running = 3, 80 },
			Choice{}},
		"unknown counts": {"no bound can be kept", func(c *Case, _ *Hangs) { c.Hangs = nil },
			Choice{HoldRate, minute}},
	} {
		t.Run(name, func(t *testing.T) {
			h := Hangs{Watched: 10, Together: 1, Running: 10}
			c := Case{
				Mode: v1alpha1.LivenessAct, Hung: 2 * minute, Leads: time.Hour, LongPhase: 4 * time.Hour, MaxRestarts: 3,
				Verdict: Verdict{State: v1alpha1.LivenessHung, Limit: 15 * minute, Step: step(100)},
				Hangs:   func() Hangs { return h },
			}
			tc.change(&c, &h)
			got := MayRestart(c)
			if diff := cmp.Diff(tc.want, got); diff != "" || got.Restarts() != (tc.want.Hold == HoldNone) {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHoldReason(t *testing.T) {
	for hold, want := range map[Hold]string{
		HoldInVain: v1alpha1.ReasonRestartDoesNotHelp, HoldMaxRestarts: v1alpha1.ReasonRestartDoesNotHelp,
		HoldSharedCause: v1alpha1.ReasonSharedCause, HoldActive: v1alpha1.ReasonGangHung,
		HoldNone: v1alpha1.ReasonGangHung,
	} {
		if got := hold.Reason(); got != want {
			t.Errorf("%q: reason %s, want %s", hold, got, want)
		}
	}
}

func TestNamedNode(t *testing.T) {
	for name, tc := range map[string]struct {
		verdict Verdict
		want    string
	}{
		"strong":   {Verdict{State: v1alpha1.LivenessHung, Strong: true, Node: "a"}, "a"},
		"weak":     {Verdict{State: v1alpha1.LivenessHung, Node: "a"}, ""},
		"progress": {Verdict{State: v1alpha1.LivenessProgressing, Strong: true, Node: "a"}, ""},
	} {
		if got := tc.verdict.NamedNode(); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestNameNodeKeepsEight: a node that is named again counts and is the last one; the list has eight.
func TestNameNodeKeepsEight(t *testing.T) {
	var named []v1alpha1.NamedNode
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "b", "i", "j"} {
		named = NameNode(named, v1alpha1.NamedNode{Name: name})
	}
	var got []string
	for _, n := range named {
		got = append(got, n.Name)
		if want := map[string]int32{"b": 2}[n.Name]; want > 0 && n.Times != want {
			t.Errorf("%s was named %d times, want %d", n.Name, n.Times, want)
		}
	}
	if diff := cmp.Diff([]string{"d", "e", "f", "g", "h", "b", "i", "j"}, got); diff != "" {
		t.Errorf("named nodes (-want +got):\n%s", diff)
	}
}

func TestPauses(t *testing.T) {
	for name, tc := range map[string]struct {
		age, want time.Duration
	}{
		"clock went back":   {-time.Hour, time.Hour},
		"less than a week":  {week - 1, time.Hour},
		"a week":            {week, 30 * time.Minute},
		"two weeks":         {2*week + 1, 15 * time.Minute},
		"more than a year":  {80 * week, 0},
		"ages do not wrap":  {1<<63 - 1, 0},
		"recorded just now": {0, time.Hour},
	} {
		if got := Halved(time.Hour, tc.age); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	v := Verdict{LongestPause: 40 * time.Minute}
	if got, changed := LearnPause(time.Hour, 0, v); got != time.Hour || changed {
		t.Errorf("a shorter pause replaced a new one: %v", got)
	}
	if got, changed := LearnPause(time.Hour, week, v); got != 40*time.Minute || !changed {
		t.Errorf("a longer pause than half of the old one did not replace it: %v", got)
	}
}
