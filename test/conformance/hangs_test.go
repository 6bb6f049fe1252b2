//go:build cluster

package conformance

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

var hangsInFull = flag.Bool("hangs", false, "play gangs that hang: each takes minutes, since the least "+
	"limit of a step is two minutes, and the operator waits another one before it restarts a gang")

// withHangs is the scheduler under an operator that restarts gangs that hang.
func (d *dialect) withHangs() *dialect {
	hangs := *d
	hangs.hangs, hangs.timeout = true, 10*time.Minute
	return &hangs
}

// Rank 2 of the first attempt hangs after 150 steps, of which 100 are saved. The others wait for it.
var hanging = jobSpec{
	name: "low", ranks: 3, gpus: 8, liveness: v1alpha1.LivenessAct, retain: v1alpha1.RetainClaim,
	trainer: "steps=1000 rate=1000 every=100ms save=50ms start=300ms stall-after=150 stall-attempts=1 " +
		"stall-rank=2 on-sigterm=save",
}

// hangCycle is that of a gang that hangs, is restarted once from its checkpoint, and succeeds.
func hangCycle() crashSteps {
	return crashSteps{"hangs", []Step{
		submit(hanging),
		until("low", runsWhole(3), attempt(1), saved(saveSteps), trained(1, stallSteps)),
		until("low", condition(v1alpha1.ConditionStalled, "True"), suspects("low-worker-2")),
		until("low", is(v1alpha1.PhaseSucceeded), attempt(2), holds(0), hasNoGroup(), searchIsOver()),
		now("low", spent(0, 0), neverFailed(), passed(v1alpha1.PhaseDraining), saved(allSteps),
			trained(2, allSteps), hangRestarts(1), namedNodes(1)),
	}, []string{
		"POST pods", "PATCH trainingjobs/low/status Running", "PATCH trainingjobs/low/status Draining",
		"PATCH trainingjobs/low/status Succeeded",
	}}
}

// suspects expects the ranks that the status names.
func suspects(pods ...string) Expectation {
	return ofStatus(fmt.Sprintf("suspects %v", pods), func(st *v1alpha1.TrainingJobStatus) string {
		var named []string
		if st.Liveness != nil {
			for _, s := range st.Liveness.Suspects {
				named = append(named, s.Pod)
			}
		}
		if !slices.Equal(named, pods) {
			return fmt.Sprintf("the suspects are %v, not %v", named, pods)
		}
		return ""
	})
}

func hangRestarts(n int32) Expectation {
	return ofStatus(fmt.Sprintf("was restarted for %d hangs", n), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Liveness == nil {
			return "the status has no liveness"
		}
		return differs("the number of restarts for hangs", st.Liveness.Restarts, n)
	})
}

// namedNodes expects that hangs of the job have named nodes, each once.
func namedNodes(n int) Expectation {
	return ofStatus(fmt.Sprintf("has named %d nodes", n), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Liveness == nil || len(st.Liveness.NamedNodes) != n {
			return fmt.Sprintf("the liveness is %+v", st.Liveness)
		}
		for _, node := range st.Liveness.NamedNodes {
			if node.Times != 1 {
				return fmt.Sprintf("node %s was named %d times", node.Name, node.Times)
			}
		}
		return ""
	})
}

// TestHangs plays a gang that hangs on every real scheduler, undisturbed, and with the operator killed before
// and after the write that begins the restart. Beside them, four gangs hang together on the fake.
func TestHangs(t *testing.T) {
	t.Parallel()
	if !*hangsInFull {
		t.Log("it is left to make test-hangs")
		return
	}
	for _, d := range realDialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, d)
			defer cluster.takeTurn(d)()
			begins := "PATCH trainingjobs/low/status Draining"
			for _, crashes := range [][]Crash{nil, {{Before, 1, begins}, {After, 1, begins}}} {
				got, err := attemptScenario(inTime(t), cluster, d.withHangs(), hangCycle().steps, crashes)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.killed) != len(crashes) {
					t.Errorf("the operator was killed at %v, not %v", got.killed, crashes)
				}
			}
		})
	}
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		d := fakeDialect(fakescheduler.Behavior{})
		if _, err := attemptScenario(inTime(t), sharedCluster(t), d.withHangs(), hangTogether(4), nil); err != nil {
			t.Fatal(err)
		}
	})
}

// hangTogether: the operator restarts none of several gangs that hang at the same time.
func hangTogether(gangs int) []Step {
	var steps []Step
	name := func(i int) string { return fmt.Sprint("hangs-", i) }
	for i := range gangs {
		a := hanging
		a.name, a.gpus = name(i), 2
		steps = append(steps, submit(a))
	}
	for i := range gangs {
		steps = append(steps, until(name(i), runsWhole(3), blockedBy(v1alpha1.ReasonSharedCause)))
	}
	for i := range gangs {
		steps = append(steps, now(name(i), attempt(1), hangRestarts(0), namedNodes(0)), trainOn(name(i)))
	}
	for i := range gangs {
		steps = append(steps, until(name(i), is(v1alpha1.PhaseSucceeded), attempt(1)))
	}
	return steps
}

// TestCrashAtEveryWriteOfAHang kills the operator at every write while a gang hangs and is restarted:
// whichever process died when, the gang is restarted once, from its newest checkpoint, and its node is named
// once.
func TestCrashAtEveryWriteOfAHang(t *testing.T) {
	t.Parallel()
	if !*hangsInFull && *crashPoints != "all" {
		t.Log("it is left to make crash and make test-hangs")
		return
	}
	if fake := fakeDialect(fakescheduler.Behavior{}); crashPlan.Includes(fake.name) {
		t.Run("fake", func(t *testing.T) { crashEverywhere(t, sharedCluster(t), fake.withHangs(), hangCycle()) })
	}
}
