package trainingjob

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// story is a simulated history of one job. Its log is compared with testdata/stories/<name>.txt.
type story struct {
	job  *v1alpha1.TrainingJob
	tell func(*simulation)
}

func TestStories(t *testing.T) {
	for _, stories := range []map[string]story{
		waitingStories, lifecycleStories, disruptionStories, failureStories, checkpointStories, searchStories,
		workStories, endingStories, firstStories, boundStories, invalidStories, roleStories,
		mpiStories, policyStories, mlflowStories, preemptionStories, brokerStories, gateStories,
		resumePointStories,
	} {
		for name, s := range stories {
			t.Run(name, func(t *testing.T) { playStory(t, name, s) })
		}
	}
}

func playStory(t *testing.T, name string, s story) {
	t.Helper()
	sim := newSimulation(t, s.job.DeepCopy())
	s.tell(sim)
	golden := filepath.Join("testdata", "stories", name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(sim.log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), sim.log.String()); diff != "" {
		t.Errorf("the story went another way (-want +got):\n%s", diff)
	}
	checkIdle(t, sim)
}

// checkIdle checks invariant 6: reconciles of a job that no longer changes write nothing.
func checkIdle(t *testing.T, sim *simulation) {
	t.Helper()
	sim.converge()
	writes := sim.statusWrites
	for range 10 {
		if sim.reconcile() {
			t.Error("a reconcile of an unchanged job changed something")
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("ten idle reconciles wrote the status %d times", sim.statusWrites-writes)
	}
}

// judged is what a scheduler that has looked at the gang says of it.
func judged(admission scheduler.Admission, reason, message string) scheduler.Verdict {
	return scheduler.Verdict{Admission: admission, Judged: true, Reason: reason, Message: message}
}

// runGang brings a job to Running. The story's log begins there.
func runGang(sim *simulation) {
	sim.converge()
	sim.bind()
	sim.start()
	sim.converge()
	sim.advance(6 * time.Second)
	sim.converge()
	sim.log.Reset()
	if sim.job.Status.Phase != v1alpha1.PhaseRunning {
		sim.t.Fatalf("the job is %s, want Running", sim.job.Status.Phase)
	}
	sim.logf("a job of %d ranks runs", spec.Ranks(sim.job))
}

// trainTo250 brings a job to Running and its training to step 250, with a reported checkpoint at step 200.
func trainTo250(sim *simulation) {
	runGang(sim)
	sim.postReport(10)
	sim.converge()
	sim.advance(2 * time.Minute)
	s := sim.saveCheckpoint(200)
	sim.postReport(205, withCommit(s))
	sim.narrate("the checkpoint of step 200 is reported at once")
	sim.advance(30 * time.Second)
	sim.postReport(250)
	sim.narrate("and then progress")
	sim.logCheckpoints()
}

// runAgain lets the next attempt run, once the pods of the last one are gone.
func runAgain(sim *simulation) {
	sim.podsLinger = false
	sim.removeTerminating()
	sim.converge() // what waited for those pods, or for a backoff
	sim.bindAndStart()
	sim.narrate("all ranks run again")
	sim.logCheckpoints()
}

func setSuspend(sim *simulation, suspend bool) {
	sim.job.Spec.RunPolicy.Suspend = &suspend
	sim.job.Generation++
}
