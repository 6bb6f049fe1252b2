//go:build cluster

package conformance

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// The number of crashes in the second run of each scenario.
const (
	crashesOnFake = 3
	crashesOnReal = 1
)

func TestScenariosOnFake(t *testing.T) {
	t.Parallel()
	runSuite(t, fakeDialect(fakescheduler.Behavior{}), crashesOnFake)
}

// TestScenariosOnFakeWithOptions plays on a fake with the behavior of real schedulers, so that the suite does
// not demand more than they give.
func TestScenariosOnFakeWithOptions(t *testing.T) {
	t.Parallel()
	runSuite(t, fakeDialect(fakescheduler.Behavior{Options: fakescheduler.Options()}), 0)
}

func TestScenariosOnNative(t *testing.T) {
	t.Parallel()
	runSuite(t, nativeDialect(), crashesOnReal)
}

func TestScenariosOnVolcano(t *testing.T) {
	t.Parallel()
	runSuite(t, volcanoDialect(), crashesOnReal)
}

func TestScenariosOnCoscheduling(t *testing.T) {
	t.Parallel()
	runSuite(t, coschedulingDialect(), crashesOnReal)
}

func TestScenariosOnKueue(t *testing.T) {
	t.Parallel()
	runSuite(t, kueueDialect(), crashesOnReal)
}

// runSuite plays every scenario whose needs the scheduler meets, once undisturbed and, without -short, once
// with a number of crashes of the operator. The committed list has the others with the reason.
func runSuite(t *testing.T, d *dialect, crashes int) {
	cluster := clusterOf(t, d)
	if err := d.capabilities.Check(); err != nil {
		t.Fatal(err)
	}
	defer cluster.takeTurn(d)()
	if testing.Short() {
		crashes = 0
	}
	var outcomes []Outcome
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios() {
			if _, why := d.capabilities.Lacks(s.needs); why != "" {
				outcomes = append(outcomes, Outcome{Scenario: s.name, Lacking: why})
				continue
			}
			outcome, crashes := Outcome{Scenario: s.name}, crashes
			if s.brokers {
				inShort, left := brokerInShort(d, s, crashes)
				if left {
					outcome.Target = "test-preemption"
				}
				if !brokerInFull() {
					crashes = inShort
				}
			}
			outcomes = append(outcomes, outcome)
			if outcome.Target != "" && !brokerInFull() {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				if d.behavior != nil {
					t.Parallel()
				}
				runScenario(t, cluster, d, s, crashes)
			})
		}
	})
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Log("-run chooses scenarios: the list of those that ran is not compared")
		return
	}
	usedRights.hasPlayed(d.name)
	if err := CompareList("testdata/scenarios-"+d.name+".txt", outcomes, *update); err != nil {
		t.Error(err)
	}
}

func runScenario(t *testing.T, cluster *testCluster, d *dialect, s Scenario, crashes int) {
	t.Log(s.promise)
	d = d.as(s)
	begin := time.Now()
	undisturbed, err := attemptScenario(inTime(t), cluster, d, s.steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("undisturbed, with %d writes of the operator: %.1f s", len(undisturbed.writes),
		time.Since(begin).Seconds())
	if crashes == 0 {
		return
	}
	if *crashPoints == "all" && crashPlan.Includes(d.name) {
		crashAtEachWrite(t, cluster, d, s, len(undisturbed.writes))
		return
	}
	playWithCrashes(t, cluster, d, s, SomeCrashes(d.name+"/"+s.name, len(undisturbed.writes), crashes))
}

// crashAtEachWrite plays the scenario once for each crash point of the shard that has not held yet.
func crashAtEachWrite(t *testing.T, cluster *testCluster, d *dialect, s Scenario, writes int) {
	points, err := crashPlan.Start(d.name, s.name, AllCrashes(writes))
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range points.missing {
		killed, ok := playWithCrashes(t, cluster, d, s, []Crash{point})
		if !ok {
			continue
		}
		if err := points.Held(point, killed); err != nil {
			t.Error(err)
		}
	}
}

// playWithCrashes reports whether the scenario holds, and the writes at which the operator was killed.
func playWithCrashes(
	t *testing.T, cluster *testCluster, d *dialect, s Scenario, crashes []Crash,
) (killed []string, ok bool) {
	begin := time.Now()
	got, err := attemptScenario(inTime(t), cluster, d, s.steps, crashes)
	if err != nil {
		t.Errorf("with the operator killed %v: %v", crashes, err)
		return nil, false
	}
	t.Logf("the same with the operator killed %v: %.1f s", crashes, time.Since(begin).Seconds())
	return got.killed, true
}

// result of playing a scenario.
type result struct {
	// writes of the operator, each in CrashTransport's form.
	writes []string
	// state describes every job and the objects that remain of it.
	state string
	// killed lists the writes at which the operator was killed.
	killed []string
}

// attemptScenario plays the steps once. Its error includes the history.
func attemptScenario(ctx context.Context, cluster *testCluster, d *dialect, steps []Step,
	crashes []Crash) (got result, err error) {
	e, err := newEnv(ctx, cluster, d, crashes)
	if err != nil {
		return result{}, fmt.Errorf("preparing: %w", err)
	}
	if err = e.play(ctx, steps); err == nil {
		got.writes = e.operator.writes()
		got.state, err = e.afterCrashes(ctx, crashes)
	}
	if err != nil {
		e.noteWaits(ctx)
	}
	got.killed = e.operator.killedAt()
	if closed := e.close(ctx); err == nil {
		err = closed
	}
	if err == nil {
		err = e.violations()
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, e.story())
	}
	return got, err
}

// afterCrashes returns the final state of a scenario, once the operator has crashed as often as planned and
// runs again. The last crash may be at the scenario's last write or beyond it, because two runs differ by a
// write or two (by a whole preemption where the scheduler's backoff decides which gang is tried first).
// Heartbeat jobs, which are suspended from the start, then give the operator something to write until it
// crashes, and one more shows that the next run has begun. A crash at a kind of write that the steps did not
// make is not awaited.
func (e *Env) afterCrashes(ctx context.Context, crashes []Crash) (string, error) {
	const most = 64
	for i, last := 0, len(crashes) == 0; !last; i++ {
		if i == most {
			return "", fmt.Errorf("the operator died %d times, not %d", e.operator.deaths(), len(crashes))
		}
		last = e.operator.deaths() >= len(crashes) || i > 0 && crashes[0].Kind != ""
		witness := fmt.Sprintf("%s%d", heartbeatPrefix, i)
		steps := []Step{submit(jobSpec{name: witness, ranks: 1, suspended: true}),
			until(witness, is(v1alpha1.PhaseSuspended))}
		if err := e.play(ctx, steps); err != nil {
			return "", err
		}
	}
	return e.state(ctx)
}

const heartbeatPrefix = "heartbeat-"

// state of every job that a scenario leaves, and of the job's objects.
func (e *Env) state(ctx context.Context) (string, error) {
	v, err := e.look(ctx)
	if err != nil {
		return "", err
	}
	lines := slices.Clone(e.noted)
	for name, job := range v.jobs {
		if !strings.HasPrefix(name, heartbeatPrefix) {
			lines = append(lines, stateOf(v, job))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func stateOf(v *view, job *v1alpha1.TrainingJob) string {
	st, live, failure := job.Status, 0, "none"
	for _, p := range v.podsOf(job.Name) {
		if Live(p) {
			live++
		}
	}
	if st.LastFailure != nil {
		failure = st.LastFailure.PodName
	}
	return fmt.Sprintf("%s: %s, attempt %d, restarts %d, preemptions %d, last failure %s, %d live pods, "+
		"%d groups",
		job.Name, st.Phase, st.Attempt, st.Restarts, st.Preemptions, failure, live, len(v.groupsOf(job.Name)))
}
