package trainingjob

import (
	"math/rand/v2"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// TestInvariantsHoldInRandomHangs plays gangs that hang often, in seeded random order, with other jobs that
// hang, ranks that send no beats, new leaders, and crashes before random effects. checkLiveness checks each
// write.
func TestInvariantsHoldInRandomHangs(t *testing.T) {
	restarts, left, excluded := 0, 0, 0
	for seed := range uint64(24) {
		sim := randomHangs(t, seed)
		restarts += sim.hangRestarts
		if l := sim.job.Status.Liveness; l != nil && (l.Restarts == 3 || l.RestartsWithoutProgress == 2) {
			left++
		}
		if sim.job.Status.Disruptions != nil {
			excluded++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, sim.log.String())
		}
	}
	t.Logf("%d restarts for hangs; %d gangs are left as they are; %d avoid a node", restarts, left, excluded)
	if restarts < 24 || left == 0 || excluded == 0 {
		t.Error("the histories cover too few cases")
	}
}

func randomHangs(t *testing.T, seed uint64) *simulation {
	rng := rand.New(rand.NewPCG(seed, 4))
	sim := newSimulation(t, jobtest.New(2+rng.Int32N(4), jobtest.Checkpoints, act))
	sim.checksOwners = 11
	sim.watch(v1alpha1.LivenessAct)
	for range 25 {
		sim.shouldCrash = func() bool { return rng.IntN(20) == 0 }
		for range 15 {
			sim.reconcile()
		}
		sim.shouldCrash = func() bool { return false }
		sim.runRanks()
		sim.randomBeats(rng)
		if rng.IntN(3) == 0 {
			sim.stalled = false
			sim.pass(2 * time.Minute)
		}
		if rng.IntN(3) == 0 {
			sim.hangs = &observation.Hangs{Watched: 10, Running: 10, Together: 1}
		}
	}
	return sim
}

// runRanks plays scheduler, kubelets and the search of the volume.
func (sim *simulation) runRanks() {
	sim.removeTerminating()
	for _, p := range sim.pods {
		switch {
		case render.IsResolver(p):
			if !observation.Ended(p) {
				sim.finishSearch()
			}
		case p.Spec.NodeName == "" && sim.gangIsComplete():
			sim.bindTo("node-"+p.Name, p.Name)
		case p.Spec.NodeName != "" && !trainerEnded(p) && p.Status.Phase == "Pending":
			sim.start(p.Name)
		}
	}
	sim.advanceToWake()
}
