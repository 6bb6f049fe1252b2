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

// story is a simulated history of one job. TestStories compares its log with testdata/stories/<name>.txt.
type story struct {
	job  *v1alpha1.TrainingJob
	play func(*simulation)
}

var allStories = []map[string]story{
	deviceStories,
	waitingStories, lifecycleStories, disruptionStories, failureStories, checkpointStories, searchStories,
	workStories, endingStories, firstStories, boundStories, invalidStories, roleStories,
	mpiStories, policyStories, mlflowStories, preemptionStories, brokerStories, gateStories,
	resumePointStories, besideStories, topologyStories, livenessStories,
	rehearsalStories, backfillStories,
}

func TestStories(t *testing.T) {
	for _, stories := range allStories {
		for name, s := range stories {
			t.Run(name, func(t *testing.T) { playStory(t, name, s) })
		}
	}
}

func playStory(t *testing.T, name string, s story) {
	t.Helper()
	sim := newSimulation(t, s.job.DeepCopy())
	s.play(sim)
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
		t.Errorf("the log differs (-want +got):\n%s", diff)
	}
	checkIdle(t, sim)
}

// checkIdle checks invariant 6: reconciles of an unchanged job write nothing.
func checkIdle(t *testing.T, sim *simulation) {
	t.Helper()
	sim.converge()
	writes := sim.statusWrites
	for range 10 {
		if sim.reconcile() {
			t.Error("a reconcile of an unchanged job made a change")
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("ten idle reconciles wrote the status %d times", sim.statusWrites-writes)
	}
}

// judged returns the verdict of a scheduler that has considered the gang.
func judged(admission scheduler.Admission, reason, message string) scheduler.Verdict {
	return scheduler.Verdict{Admission: admission, Judged: true, Reason: reason, Message: message}
}

// runGang brings a job to Running, and clears the log of the story.
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
	sim.logf("a job of %d ranks is running", spec.Ranks(sim.job))
}

// trainTo250 runs a job to step 250. Its agent has reported a checkpoint of step 200.
func trainTo250(sim *simulation) {
	runGang(sim)
	sim.postReport(10)
	sim.converge()
	sim.advance(2 * time.Minute)
	s := sim.saveCheckpoint(200)
	sim.postReport(205, withCommit(s))
	sim.narrate("the agent reports the checkpoint of step 200")
	sim.advance(30 * time.Second)
	sim.postReport(250)
	sim.narrate("the agent reports progress")
	sim.logCheckpoints()
}

// runAgain removes the pods of the last attempt, and runs the next one.
func runAgain(sim *simulation) {
	sim.podsLinger = false
	sim.removeTerminating()
	sim.converge() // until the pods of the next attempt exist
	sim.bindAndStart()
	sim.narrate("all ranks are running again")
	sim.logCheckpoints()
}

func restartNever(job *v1alpha1.TrainingJob) { job.Spec.RestartPolicy = v1alpha1.RestartNever }

func setSuspend(sim *simulation, suspend bool) {
	sim.job.Spec.RunPolicy.Suspend = &suspend
	sim.job.Generation++
}
