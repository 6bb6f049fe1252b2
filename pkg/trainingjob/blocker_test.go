package trainingjob

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/status"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A job that starts at once must cost nothing for reasons that nobody will read: the cluster is not even
// asked.
func TestWhyIsAskedOnlyWhileAJobWaits(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "needs 8 GPUs, 0 free"}
	sim.converge()
	sim.bind()
	sim.advance(time.Second)
	sim.converge()
	sim.start()
	sim.converge()
	if sim.explainCalls != 0 || sim.statusWrites != 2 {
		t.Errorf("asked %d times why, %d writes; want 0 and 2 (Queued, Running)", sim.explainCalls, sim.statusWrites)
	}
}

// While a job waits, what it waits for mostly is no object of its own: time alone must bring the next look,
// and a look that finds nothing new writes nothing.
func TestAJobThatWaitsLooksAgain(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "needs 8 GPUs, 0 free"}
	sim.converge()
	if want := sim.now.Add(observation.StatusDelay); !sim.wake.Equal(want) {
		t.Fatalf("wakes at %s, want %s: when the reason is due", sim.wake, want)
	}
	sim.now = sim.wake
	sim.converge()
	writes := sim.statusWrites
	for range 10 {
		asked := sim.explainCalls
		if sim.wake.IsZero() || sim.wake.Sub(sim.now) > status.BlockerRefresh {
			t.Fatalf("wakes at %s, want within %s of %s", sim.wake, status.BlockerRefresh, sim.now)
		}
		sim.now = sim.wake
		sim.reconcile()
		if sim.explainCalls != asked+1 {
			t.Fatalf("one pass asked %d times", sim.explainCalls-asked)
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("%d writes while the reason stayed the same", sim.statusWrites-writes)
	}
}
