package liveness

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func step(n int64) *int64 { return &n }

// hungGang has ranks that have been idle for an hour, since the same step, and whose beats have just arrived.
func hungGang(ranks int) Gang {
	g := Gang{
		Running: 10 * time.Hour, Interval: 30 * time.Second,
		Limits: Limits{
			Hang: 15 * time.Minute, FirstStep: time.Hour, Saving: time.Hour, LongPhase: 4 * time.Hour,
			SlowPercent: 150,
		},
	}
	for i := range ranks {
		g.Ranks = append(g.Ranks, Rank{
			Pod: fmt.Sprintf("worker-%d", i), Node: fmt.Sprintf("node-%d", i), NodeReady: true, Trains: true,
			Age:  10 * time.Second,
			Beat: &checkpoint.Beat{Step: step(100), Phase: checkpoint.PhaseTraining, IdleSeconds: 3600, Labels: true},
		})
	}
	return g
}

// TestEnoughBeats: one rank of a small gang may be silent, and a fifth of a large one.
func TestEnoughBeats(t *testing.T) {
	for _, tc := range []struct {
		watched, reporting int32
		want               bool
	}{
		{0, 0, false}, {1, 0, false}, {1, 1, true}, {2, 1, true}, {4, 3, true}, {4, 2, false},
		{64, 52, true}, {64, 51, false},
	} {
		if got := EnoughBeats(tc.watched, tc.reporting); got != tc.want {
			t.Errorf("%d of %d: %t", tc.reporting, tc.watched, got)
		}
	}
}

// TestJudgeStates has the rules of A6 about state and limit.
func TestJudgeStates(t *testing.T) {
	const minute = time.Minute
	for name, tc := range map[string]struct {
		reason string
		change func(*Gang)
		want   v1alpha1.LivenessState
		limit  time.Duration
	}{
		"hung":     {"no rank makes progress", func(*Gang) {}, v1alpha1.LivenessHung, 15 * minute},
		"no ranks": {"nothing is watched", func(g *Gang) { g.Ranks = nil }, v1alpha1.LivenessUnknown, 0},
		"one progresses": {"the progress of one rank is the gang's", func(g *Gang) {
			g.Ranks[7].Beat.IdleSeconds = 800
		}, v1alpha1.LivenessProgressing, 15 * minute},
		"an evaluator progresses": {"ranks that do not train prove nothing", func(g *Gang) {
			g.Ranks[7].Trains, g.Ranks[7].Beat.IdleSeconds = false, 1
		}, v1alpha1.LivenessHung, 15 * minute},
		"two of ten are silent": {"80% are enough", func(g *Gang) {
			g.Ranks[0].Age, g.Ranks[1].Age = time.Hour, time.Hour
		}, v1alpha1.LivenessHung, 15 * minute},
		"three of ten are silent": {"less than 80%", func(g *Gang) {
			g.Ranks[0].Age, g.Ranks[1].Age, g.Ranks[2].Beat = time.Hour, time.Hour, nil
		}, v1alpha1.LivenessUnknown, 0},
		"names nothing": {"such a trainer cannot be judged", func(g *Gang) {
			for i := range g.Ranks {
				g.Ranks[i].Beat.Step, g.Ranks[i].Beat.Phase = nil, ""
			}
		}, v1alpha1.LivenessUnknown, 0},
		"names nothing yet": {"it did in earlier attempts", func(g *Gang) {
			g.Past.Step = time.Second
			for i := range g.Ranks {
				g.Ranks[i].Beat.Step, g.Ranks[i].Beat.Phase = nil, ""
			}
		}, v1alpha1.LivenessHung, 60 * minute},
		"runs for a short time": {"firstStepSeconds begins with phase Running", func(g *Gang) {
			g.Running = 10 * minute
			for i := range g.Ranks {
				g.Ranks[i].Beat.Step = nil
			}
		}, v1alpha1.LivenessProgressing, 60 * minute},
		"one starts": {"the longest limit of the phases holds", func(g *Gang) {
			g.Limits.FirstStep, g.Ranks[3].Beat.Phase = 2*time.Hour, checkpoint.PhaseStarting
		}, v1alpha1.LivenessProgressing, 120 * minute},
		"one saves": {"savingSeconds", func(g *Gang) {
			g.Limits.Saving, g.Ranks[3].Beat.Phase = 90*minute, checkpoint.PhaseSaving
		}, v1alpha1.LivenessProgressing, 90 * minute},
		"one waits": {"longPhaseSeconds", func(g *Gang) {
			g.Ranks[3].Beat.Phase = checkpoint.PhaseWaiting
		}, v1alpha1.LivenessProgressing, 240 * minute},
		"one has completed": {"what follows the last step can last long", func(g *Gang) {
			g.Ranks[3].Beat.Phase = checkpoint.PhaseCompleted
		}, v1alpha1.LivenessProgressing, 240 * minute},
		"long steps": {"20 steps", func(g *Gang) {
			g.Past.Step = 5 * minute
		}, v1alpha1.LivenessProgressing, 100 * minute},
		"slow start": {"1.5 times the time to the first step", func(g *Gang) {
			g.Ranks[2].Beat.FirstStepSeconds = 6000
		}, v1alpha1.LivenessProgressing, 150 * minute},
		"earlier pause": {"3 times the longest", func(g *Gang) {
			g.Past.LongestPause = 25 * minute
		}, v1alpha1.LivenessProgressing, 75 * minute},
		"earlier pause of hours": {"at most longPhaseSeconds", func(g *Gang) {
			g.Ranks[2].Beat.LongestPauseSeconds = 20000
		}, v1alpha1.LivenessProgressing, 240 * minute},
		"high hangAfterSeconds": {"it holds above longPhaseSeconds too", func(g *Gang) {
			g.Limits.Hang = 8 * time.Hour
		}, v1alpha1.LivenessProgressing, 480 * minute},
		"no labels": {"an hour, for evaluations", func(g *Gang) {
			for i := range g.Ranks {
				g.Ranks[i].Beat.Labels = false
			}
		}, v1alpha1.LivenessHung, 60 * minute},
		"no labels, hangAfterSeconds": {"the user's own choice", func(g *Gang) {
			g.Limits.HangChosen = true
			for i := range g.Ranks {
				g.Ranks[i].Beat.Labels = false
			}
		}, v1alpha1.LivenessHung, 15 * minute},
		"rare beats": {"a limit has 4 intervals", func(g *Gang) {
			g.Interval = 10 * minute
		}, v1alpha1.LivenessHung, 40 * minute},
		"beats stopped": {"silence is no idleness", func(g *Gang) {
			g.Interval = 5 * minute
			for i := range g.Ranks {
				g.Ranks[i].Age, g.Ranks[i].Beat.IdleSeconds = 14*minute, 400
			}
		}, v1alpha1.LivenessProgressing, 20 * minute},
		"slow": {"1.5 times the job's own median", func(g *Gang) {
			g.Past.Step = time.Second
			for i := range g.Ranks {
				g.Ranks[i].Beat.StepSeconds, g.Ranks[i].Beat.IdleSeconds = 1.6, 1
			}
		}, v1alpha1.LivenessSlow, 15 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			g := hungGang(10)
			tc.change(&g)
			v := Judge(g)
			if v.State != tc.want || v.Limit != tc.limit || v.Next < shortestLook {
				t.Errorf("%s: got %s, limit %v, next %v; want %s, limit %v", tc.reason, v.State, v.Limit, v.Next,
					tc.want, tc.limit)
			}
		})
	}
}

// TestJudgeSuspects has the rules of A6 about suspects.
func TestJudgeSuspects(t *testing.T) {
	type named struct {
		Evidence v1alpha1.SuspectEvidence
		Pods     int
		Strong   bool
		Node     string
	}
	stop := func(b *checkpoint.Beat) { b.State, b.StateSeconds = checkpoint.ProcessStopped, 60 }
	for name, tc := range map[string]struct {
		reason string
		change func(ranks []Rank)
		want   named
	}{
		"none": {"nothing differs", func([]Rank) {}, named{}},
		"silent": {"it was silent when the gang stopped", func(r []Rank) {
			r[4].Age, r[4].Beat.IdleSeconds = time.Hour, 1
		}, named{v1alpha1.EvidenceSilent, 1, true, "node-4"}},
		"silent later": {"it did not stop the gang", func(r []Rank) {
			r[4].Age = 10 * time.Minute
		}, named{v1alpha1.EvidenceSilent, 1, false, "node-4"}},
		"silent before": {"the gang went on without it", func(r []Rank) {
			r[4].Age = 5 * time.Hour
		}, named{v1alpha1.EvidenceSilent, 1, false, "node-4"}},
		"node": {"silent, and its node is not ready", func(r []Rank) {
			r[4].Beat, r[4].Age, r[4].NodeReady = nil, time.Hour, false
		}, named{v1alpha1.EvidenceNodeNotReady, 1, true, "node-4"}},
		"silence before a step": {"the first rule counts", func(r []Rank) {
			r[4].Age, r[4].Beat.IdleSeconds, r[5].Beat.Step = time.Hour, 1, step(99)
		}, named{v1alpha1.EvidenceSilent, 1, true, "node-4"}},
		"behind": {"a step below all others", func(r []Rank) { r[4].Beat.Step = step(99) },
			named{v1alpha1.EvidenceBehind, 1, true, "node-4"}},
		"step of an old beat": {"it may have finished the step", func(r []Rank) {
			for i := range r {
				r[i].Beat.IdleSeconds = 3600
			}
			r[4].Beat.Step, r[4].Age, r[4].Beat.IdleSeconds = step(99), 2*time.Hour, 1
		}, named{v1alpha1.EvidenceSilent, 1, false, "node-4"}},
		"steps of half of the ranks": {"ranks without a step prove nothing", func(r []Rank) {
			for i := range 10 {
				r[i].Beat.Step = nil
			}
			r[14].Beat.Step = step(99)
		}, named{}},
		"stopped": {"state T for a minute", func(r []Rank) { stop(r[4].Beat) },
			named{v1alpha1.EvidenceStopped, 1, true, "node-4"}},
		"stopped for a short time": {"less than a minute", func(r []Rank) {
			stop(r[4].Beat)
			r[4].Beat.StateSeconds = 59
		}, named{}},
		"disk": {"state D for a minute", func(r []Rank) {
			r[4].Beat.State, r[4].Beat.StateSeconds = checkpoint.ProcessWaitsDisk, 61
		}, named{v1alpha1.EvidenceDiskWait, 1, true, "node-4"}},
		"two of twenty": {"a tenth", func(r []Rank) {
			stop(r[4].Beat)
			stop(r[5].Beat)
		}, named{v1alpha1.EvidenceStopped, 2, true, ""}},
		"two on a node": {"both name it", func(r []Rank) {
			stop(r[4].Beat)
			stop(r[5].Beat)
			r[5].Node = "node-4"
		}, named{v1alpha1.EvidenceStopped, 2, true, "node-4"}},
		"three of twenty": {"more than a tenth", func(r []Rank) {
			stop(r[4].Beat)
			stop(r[5].Beat)
			stop(r[6].Beat)
		}, named{}},
		"where": {"at another place than the others", func(r []Rank) {
			for i := range r {
				r[i].Beat.Where = "allreduce"
			}
			r[4].Beat.Where = "loader"
		}, named{v1alpha1.EvidenceWhere, 1, false, "node-4"}},
		"load": {"the others spin", func(r []Rank) {
			for i := range r {
				r[i].Beat.CPUs = 0.99
			}
			r[4].Beat.CPUs = 0
		}, named{v1alpha1.EvidenceLoad, 1, false, "node-4"}},
		"little load": {"a difference of 0.1 CPUs proves nothing", func(r []Rank) { r[4].Beat.CPUs = 0.1 },
			named{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := hungGang(20)
			tc.change(g.Ranks)
			v := Judge(g)
			got := named{Pods: len(v.Suspects), Strong: v.Strong, Node: v.Node}
			if len(v.Suspects) > 0 {
				got.Evidence = v.Suspects[0].Evidence
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || v.State != v1alpha1.LivenessHung {
				t.Errorf("%s: %s, suspects (-want +got):\n%s", tc.reason, v.State, diff)
			}
		})
	}
}

// TestJudgeNext: a look is due when the gang could be idle for the limit or a rank could become silent.
func TestJudgeNext(t *testing.T) {
	g := hungGang(4)
	for i := range g.Ranks {
		g.Ranks[i].Age, g.Ranks[i].Beat.IdleSeconds = 20*time.Second, 1
	}
	if got, want := Judge(g).Next, 70*time.Second+1; got != want {
		t.Errorf("next look in %v, want %v: three intervals without a beat", got, want)
	}
	for i := range g.Ranks {
		g.Ranks[i].Age, g.Ranks[i].Beat.IdleSeconds = 0, 850
	}
	if got, want := Judge(g).Next, 50*time.Second; got != want {
		t.Errorf("next look in %v, want %v: the limit", got, want)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(uint16(10), 3600.0, 1.0, 2.0, int64(time.Minute), int64(time.Hour), int64(100), byte(3))
	f.Add(uint16(300), math.NaN(), math.Inf(1), -1.0, int64(-1), int64(math.MaxInt64), int64(math.MinInt64),
		byte(255))
	f.Add(uint16(1), 1e300, math.Inf(-1), 1e308, int64(math.MinInt64), int64(-5), int64(math.MaxInt64), byte(0))
	f.Fuzz(func(t *testing.T, ranks uint16, idle, a, b float64, age, limit, steps int64, bits byte) {
		g := hungGang(int(ranks % 600))
		g.Interval, g.Running = time.Duration(age)/3, time.Duration(limit)
		g.Past = Past{LongestPause: time.Duration(age), Step: time.Duration(limit)}
		g.Limits = Limits{
			Hang: time.Duration(limit), FirstStep: time.Duration(age), LongPhase: time.Duration(limit),
			SlowPercent: int32(steps),
		}
		states := []checkpoint.ProcessState{"R", "S", "D", "T"}
		for i := range g.Ranks {
			if r := &g.Ranks[i]; i%3 == int(bits%3) {
				r.Age, r.NodeReady = time.Duration(age)*time.Duration(i+1), bits&4 == 0
				*r.Beat = checkpoint.Beat{
					IdleSeconds: idle, StepSeconds: a, BusySeconds: b, LongestPauseSeconds: a, FirstStepSeconds: b,
					CPUs: a, DiskBytesPerSecond: b, StateSeconds: idle, Step: &steps, State: states[bits>>4&3],
				}
			}
		}
		v := Judge(g)
		for name, d := range map[string]time.Duration{
			"idle": v.Idle, "limit": v.Limit, "step time": v.StepTime, "longest pause": v.LongestPause, "next": v.Next,
		} {
			if d < 0 {
				t.Errorf("%s is %v", name, d)
			}
		}
		if n := len(v.Suspects); n > maxSuspects || n > max(1, len(g.Ranks)/10) {
			t.Errorf("%d suspects of %d ranks", n, len(g.Ranks))
		}
		if v.Next < shortestLook {
			t.Errorf("the next look is in %v", v.Next)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	g := hungGang(5000)
	for b.Loop() {
		Judge(g)
	}
}
