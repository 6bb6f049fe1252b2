package liveness

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// randomGang has ranks with random beats.
func randomGang(r *rand.Rand) Gang {
	g := hungGang(1 + r.IntN(60))
	g.Interval = time.Duration(30+r.IntN(570)) * time.Second
	g.Past.LongestPause = time.Duration(r.IntN(3600)) * time.Second
	g.Past.Step = time.Duration(r.IntN(5)) * time.Second
	phases := []checkpoint.Phase{
		"", "Starting", "Training", "Training", "Training", "Saving", "Evaluating", "Completed",
	}
	states := []checkpoint.ProcessState{"R", "S", "S", "D", "T"}
	for i := range g.Ranks {
		rank := &g.Ranks[i]
		rank.Trains, rank.NodeReady = r.IntN(10) > 0, r.IntN(20) > 0
		rank.Age = time.Duration(r.Float64() * 1.1 * float64(g.Interval) * float64(1+r.IntN(12)/11*20))
		b := rank.Beat
		b.Step, b.Phase = step(100-int64(r.IntN(20)/19)), phases[r.IntN(len(phases))]
		b.IdleSeconds, b.StepSeconds = r.Float64()*20_000, r.Float64()*10
		b.State, b.StateSeconds, b.CPUs = states[r.IntN(5)], r.Float64()*300, float64(r.IntN(2))
		b.Labels, b.LongestPauseSeconds = r.IntN(2) == 0, r.Float64()*1000
		b.DiskBytesPerSecond = r.Float64() * 2 * mebibyte
	}
	return g
}

func sameGang(g Gang) Gang {
	g.Ranks = slices.Clone(g.Ranks)
	for i := range g.Ranks {
		b := *g.Ranks[i].Beat
		g.Ranks[i].Beat = &b
	}
	return g
}

// TestInvariants has those of A9 that concern a verdict.
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(simulationSeed, 2))
	hung := 0
	for range 20_000 {
		g := randomGang(r)
		v := Judge(g)
		if v.State == v1alpha1.LivenessHung {
			hung++
		}
		checkProgressRefutes(t, r, g)
		checkIdlenessKeepsLimit(t, g, v)
		if n := len(v.Suspects); n > max(1, int(v.Watched)/10) || n > maxSuspects {
			t.Fatalf("%d suspects of %d ranks", n, v.Watched)
		}
		slices.Reverse(g.Ranks)
		if again := Judge(g); again.State != v.State || again.Limit != v.Limit ||
			len(again.Suspects) != len(v.Suspects) {
			t.Fatalf("the order of the ranks changes the verdict: %+v and %+v", v, again)
		}
	}
	if hung < 300 {
		t.Errorf("only %d of the gangs hang: the test proves little", hung)
	}
}

// checkProgressRefutes: one trainer's progress refutes a hang.
func checkProgressRefutes(t *testing.T, r *rand.Rand, g Gang) {
	t.Helper()
	g = sameGang(g)
	rank := &g.Ranks[r.IntN(len(g.Ranks))]
	if !rank.Trains {
		return
	}
	rank.Age, rank.Beat.IdleSeconds = 0, 1
	if v := Judge(g); v.State == v1alpha1.LivenessHung {
		t.Fatalf("hung, though %s made progress a second ago: %+v", rank.Pod, v)
	}
}

// checkIdlenessKeepsLimit: no load, state of a process or idle time changes a limit.
func checkIdlenessKeepsLimit(t *testing.T, g Gang, before Verdict) {
	t.Helper()
	g = sameGang(g)
	for i := range g.Ranks {
		b := g.Ranks[i].Beat
		b.CPUs, b.DiskBytesPerSecond, b.NetworkBytesPerSecond, b.State = 0, 0, 0, checkpoint.ProcessStopped
		b.IdleSeconds += 100_000
	}
	if v := Judge(g); v.Limit < before.Limit {
		t.Fatalf("idle ranks have the limit %v, others %v", v.Limit, before.Limit)
	}
}
