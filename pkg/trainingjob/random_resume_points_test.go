package trainingjob

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestUnloadableCheckpointFailureLimit saves checkpoints of which some cannot be loaded, and ends the gang in
// random ways. The training must reach its last step. An unloadable checkpoint causes at most two failures,
// unless the user chooses it or a later one.
func TestUnloadableCheckpointFailureLimit(t *testing.T) {
	passedOver, chosen := 0, 0
	for seed := range uint64(12) {
		sim := playUnloadable(t, seed)
		cs := sim.job.Status.Checkpoint
		passedOver += len(cs.PassedOver)
		chosen += sim.chosen
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, sim.log.String())
		}
	}
	t.Logf("%d checkpoints were passed over, %d were chosen", passedOver, chosen)
	if passedOver == 0 || chosen == 0 {
		t.Error("the histories cover too few cases")
	}
}

func playUnloadable(t *testing.T, seed uint64) *simulation {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	job := jobtest.New(2, jobtest.Checkpoints)
	job.Spec.BackoffLimit = new(int32(100))
	sim := newSimulation(t, job)
	sim.checksOwners = 11
	failures := map[string]int{} // by the URI of the resume point
	unloadable, choices := map[string]bool{}, 0
	for round := 0; sim.trainedStep < 400; round++ {
		if round > 120 {
			t.Errorf("the training is at step %d after %d rounds", sim.trainedStep, round)
			return sim
		}
		sim.runGangAgain()
		if sim.chosen > choices { // older checkpoints count again
			choices = sim.chosen
			clear(failures)
		}
		from := ""
		sim.trainedStep = resumeStep(sim.job.Status)
		if sim.trainedStep > 0 {
			from = sim.job.Status.Checkpoint.ResumeFrom.URI
		}
		if unloadable[from] {
			if failures[from]++; failures[from] > 2 {
				t.Errorf("%s was tried %d times", from, failures[from])
			}
			sim.terminate(checkpoint.Termination{
				Reason: checkpoint.ExitExited, ExitCode: 1, Phase: checkpoint.PhaseStarting,
			}, "bert-worker-0", "bert-worker-1")
			sim.settle()
			continue
		}
		sim.trainedStep += 20 + rng.Int64N(60)
		s := sim.saveCheckpoint(sim.trainedStep)
		// The first checkpoint can be loaded, since none is older.
		unloadable[s.uri()] = len(sim.volume) > 1 && rng.IntN(3) == 0
		sim.endRandomly(rng, s)
		sim.settle()
	}
	return sim
}

// runGangAgain runs the next attempt.
func (sim *simulation) runGangAgain() {
	sim.podsLinger = false
	sim.removeTerminating()
	sim.converge()
	sim.advance(6 * time.Minute)
	sim.converge()
	sim.bindAndStart()
	sim.converge()
	if sim.job.Status.Phase != v1alpha1.PhaseRunning {
		sim.t.Fatalf("the job is %s:\n%s", sim.job.Status.Phase, sim.log.String())
	}
	sim.podsLinger = true
}

// endRandomly ends an attempt that has trained and saved.
func (sim *simulation) endRandomly(rng *rand.Rand, s savedCheckpoint) {
	if rng.IntN(2) == 0 {
		sim.postReport(sim.trainedStep, withCommit(s))
		sim.converge()
	}
	switch rng.IntN(4) {
	case 0:
		sim.loseAllPods()
	case 1:
		sim.preempt("bert-worker-0", "bert-worker-1")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
	case 2:
		message := exited(1)
		message.Step = &sim.trainedStep
		sim.terminate(message, "bert-worker-0", "bert-worker-1")
	case 3:
		suspendGang(sim)
		if cs := sim.job.Status.Checkpoint; rng.IntN(2) == 0 && cs.Latest != nil && sim.chosen < 3 {
			chosen := sim.volume[rng.IntN(len(sim.volume))]
			point := chosen.uri()
			if rng.IntN(2) == 0 {
				point = fmt.Sprint(chosen.step)
			}
			setResumeFrom(sim, point)
		}
		setSuspend(sim, false)
	}
}

// settle ends the attempt, and its search.
func (sim *simulation) settle() {
	for range 4 {
		sim.converge()
		if sim.findPod("bert-resolve") != nil && sim.job.Status.Phase == v1alpha1.PhaseDraining {
			sim.finishSearch()
		}
	}
}
