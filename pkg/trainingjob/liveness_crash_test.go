package trainingjob

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestCrashAtEveryEffectOfAHang crashes the operator before each of its effects in turn, while a gang hangs
// twice because of the same node. Beats, reports and deletion events in memory are lost. Each restart is
// counted once, and the node is named once per hang.
func TestCrashAtEveryEffectOfAHang(t *testing.T) {
	for at := 1; ; at++ {
		effects := runHangs(t, at)
		if effects >= at {
			continue
		}
		if at < 40 {
			t.Errorf("only %d effects: these are no complete hangs", effects)
		}
		t.Logf("crashed before each of %d effects", at-1)
		return
	}
}

// runHangs plays two hangs with a crash before the given effect, and returns the number of effects.
func runHangs(t *testing.T, crashAt int) int {
	sim := newSimulation(t, jobtest.New(3, jobtest.Checkpoints, act))
	sim.watch(v1alpha1.LivenessAct)
	sim.podsLinger, sim.checksOwners = true, 7
	effects := 0
	sim.shouldCrash = func() bool {
		if effects++; effects != crashAt {
			return false
		}
		sim.logf("(the operator dies)")
		sim.departed, sim.report, sim.leadsSince = nil, nil, sim.now
		clear(sim.beats)
		return true
	}
	sim.runUntilAttempt(1)
	saved := int64(0)
	for attempt := int32(1); attempt <= 2; attempt++ {
		sim.pass(5 * time.Minute)
		saved = sim.trainerOf("bert-worker-1").step
		sim.postReport(saved, withCommit(sim.saveCheckpoint(saved)))
		sim.converge()
		sim.stall("bert-worker-1")
		sim.passWhileRunning(time.Hour)
		sim.advance(time.Minute)
		sim.converge()
		sim.terminate(exited(143), sim.rankNames()...)
		sim.stalled = false
		sim.runUntilAttempt(attempt + 1)
	}
	st := sim.job.Status
	if l := st.Liveness; st.Attempt != 3 || st.Restarts != 0 || st.Preemptions != 0 || l == nil ||
		l.Restarts != 2 || l.RestartsWithoutProgress != 1 || len(l.NamedNodes) != 1 || l.NamedNodes[0].Times != 2 {
		t.Errorf("crashed before effect %d: attempt %d, restarts %d, preemptions %d, liveness %+v; "+
			"want 3, 0, 0, 2 hang restarts, 1 in vain, 1 node named twice", crashAt, st.Attempt, st.Restarts,
			st.Preemptions, l)
	}
	if d := st.Disruptions; d == nil || len(d.ExcludedNodes) != 1 || d.ExcludedNodes[0].Reason != "Hung" {
		t.Errorf("crashed before effect %d: disruptions %+v; want 1 node excluded", crashAt, d)
	}
	if step := resumeStep(st); step != saved {
		t.Errorf("crashed before effect %d: resumes from step %d, want %d", crashAt, step, saved)
	}
	if t.Failed() {
		t.Fatal(sim.log.String())
	}
	return effects
}
