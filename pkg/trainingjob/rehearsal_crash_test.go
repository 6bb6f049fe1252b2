package trainingjob

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// TestCrashAtEveryEffectOfARehearsal crashes the operator before each of its effects in turn. Reports and
// deletion events in memory are lost. Each way is played once, and the rehearsal passes.
func TestCrashAtEveryEffectOfARehearsal(t *testing.T) {
	for at := 1; ; at++ {
		effects := crashRehearsal(t, at)
		if effects >= at {
			continue
		}
		if at < 80 {
			t.Errorf("only %d effects: this is no complete rehearsal", effects)
		}
		t.Logf("crashed before each of %d effects", at-1)
		return
	}
}

// crashRehearsal plays a rehearsal with a crash before the given effect, and returns the number of effects.
func crashRehearsal(t *testing.T, crashAt int) int {
	sim := newSimulation(t, rehearsalJob())
	sim.podsLinger = true
	r := rehearse(sim)
	r.checksOwners = 7
	effects := 0
	sim.shouldCrash = func() bool {
		if effects++; effects != crashAt {
			return false
		}
		sim.logf("(the operator dies)")
		sim.departed, sim.report, sim.leadsSince = nil, nil, sim.now
		return true
	}
	r.run()
	st := sim.job.Status
	played := ""
	for _, a := range st.Rehearsal.Attempts {
		played += fmt.Sprintf("%s/%t ", a.Way, a.Interrupted)
	}
	if want := "Kill/false Ask/false Term/false KillInSave/false /false "; played != want ||
		st.Phase != v1alpha1.PhaseSucceeded || st.Restarts != 0 || st.Preemptions != 0 {
		t.Errorf("crashed before effect %d: %s, played %q, restarts %d, preemptions %d; want %q", crashAt, st.Phase,
			played, st.Restarts, st.Preemptions, want)
	}
	for _, c := range st.Rehearsal.Checks {
		if c.Outcome == v1alpha1.RehearsalFailed {
			t.Errorf("crashed before effect %d: %s failed: %s", crashAt, c.Name, c.Message)
		}
	}
	if t.Failed() {
		r.logRehearsal()
		t.Fatal(sim.log.String())
	}
	return effects
}

// TestInvariantsHoldInRandomRehearsals plays trainers with random faults, disruptions, and crashes before
// random effects. checkRehearsal checks each write. Every rehearsal ends, and a trainer with a fault never
// passes.
func TestInvariantsHoldInRandomRehearsals(t *testing.T) {
	results := map[v1alpha1.RehearsalResult]int{}
	for seed := range uint64(60) {
		r, fault := randomRehearsal(t, seed)
		st := r.job.Status
		if st.Rehearsal == nil || st.Rehearsal.Result == "" {
			t.Errorf("seed %d: no result: %s, %s", seed, st.Phase, st.Message)
		} else if results[st.Rehearsal.Result]++; fault && st.Rehearsal.Result == v1alpha1.RehearsalResultPassed {
			t.Errorf("seed %d: a faulty trainer passed", seed)
		}
		if st.Restarts > 0 {
			t.Errorf("seed %d: %d restarts are spent", seed, st.Restarts)
		}
		if t.Failed() {
			r.logRehearsal()
			t.Fatalf("seed %d:\n%s", seed, r.log.String())
		}
	}
	t.Logf("results: %v", results)
	if len(results) < 3 {
		t.Errorf("results %v: the histories cover too few cases", results)
	}
}

// randomRehearsal returns a rehearsal that has ended, and whether its trainer has a fault.
func randomRehearsal(t *testing.T, seed uint64) (r *rehearser, fault bool) {
	rng := rand.New(rand.NewPCG(seed, 5))
	ways := []v1alpha1.RehearsalWay{wayKill, wayAsk, wayTerm, v1alpha1.RehearsalKillInSave}
	rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	sim := newSimulation(t, rehearsalJob(ways[:1+rng.IntN(4)]...))
	r = rehearse(sim)
	r.checksOwners = 11
	sim.podsLinger = rng.IntN(2) == 0
	switch rng.IntN(8) {
	case 0:
		r.ignoresResume, fault = true, true
	case 1:
		r.savesNothing, fault = true, true
	case 2:
		r.silent, fault = true, true
	case 3:
		r.lastStep = int64(50 * (1 + rng.IntN(6)))
	}
	sim.shouldCrash = func() bool {
		if rng.IntN(40) > 0 {
			return false
		}
		sim.departed, sim.report, sim.leadsSince = nil, nil, sim.now
		return true
	}
	disruptions := rng.IntN(5)
	for range disruptions {
		until := sim.now.Add(time.Duration(rng.IntN(300)) * time.Second)
		r.runUntil(func() bool { return sim.now.After(until) })
		for _, p := range sim.pods {
			if p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !observation.Ended(p) && !render.IsResolver(p) {
				sim.preempt(p.Name)
				break
			}
		}
	}
	r.run()
	return r, fault
}
