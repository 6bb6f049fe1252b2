//go:build cluster

package conformance

import (
	"flag"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

var (
	crashPoints = flag.String("crash-points", "some",
		"some|all: the writes at which the operator is killed in each scenario; all also plays a resume "+
			"that loses work")
	crashOn = flag.String("crash-on", fakescheduler.Name,
		"comma-separated schedulers on which the operator is killed at every write of a cycle: "+
			strings.Join(crashableSchedulers, ","))
	crashShard    = flag.String("crash-shard", "1/1", "i/n: the i-th of n shards of the crash points")
	crashProgress = flag.String("crash-progress", "",
		"folder in which the points that held are remembered, so that a run that was cut short can be "+
			"continued; default none")
)

var crashableSchedulers = []string{fakescheduler.Name, volcano.Name, native.Name, coscheduling.Name,
	kueue.Name}

// crashPlan is what the flags say; TestMain sets it.
var crashPlan *CrashPlan

// crashSteps is a cycle in which the operator is killed at each of its writes.
type crashSteps struct {
	name  string
	steps []Step
	// required are the kinds of writes (KindOf) before and after which an operator must be killed; else the
	// crash points missed the cycle.
	required []string
}

// TestCrashAtEveryWrite kills the operator before and after each of its writes in a preempt-and-return cycle.
// A new one starts, and the outcome must be the same. It always plays on the fake, and with -crash-on on real
// schedulers, where the points are played one after the other.
func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	if fake := fakeDialect(fakescheduler.Behavior{}); crashPlan.Includes(fake.name) {
		t.Run("fake", func(t *testing.T) { crashEverywhere(t, sharedCluster(t), fake, returns()) })
		t.Run("fake that evicts part", func(t *testing.T) {
			crashEverywhere(t, sharedCluster(t), evictsPart(), returns())
		})
	}
	crashOnReal(t, returns(), realDialects()...)
}

// TestCrashAtEveryWriteOfAResume does the same with checkpoints: the next attempt resumes from the newest
// complete one, whichever process died when. With -crash-points=all it also plays a cycle that loses work.
func TestCrashAtEveryWriteOfAResume(t *testing.T) {
	t.Parallel()
	unreported := resumes("saves unreported", savesUnreported)
	if fake := fakeDialect(fakescheduler.Behavior{}); crashPlan.Includes(fake.name) {
		t.Run("fake that evicts part", func(t *testing.T) {
			crashEverywhere(t, sharedCluster(t), evictsPart(), unreported)
		})
		if *crashPoints == "all" {
			t.Run("fake", func(t *testing.T) { crashEverywhere(t, sharedCluster(t), fake, resumes("dies", dies)) })
		}
	}
	crashOnReal(t, unreported, realDialects()...)
}

// TestCrashAtEveryWriteOfABroker does the same while a gang yields to another, as the operator has planned:
// whichever process died when, it saves first, is ended once, and does not return before the other has
// started.
func TestCrashAtEveryWriteOfABroker(t *testing.T) {
	t.Parallel()
	if !brokerInFull() {
		t.Log("it is left to make crash and make test-preemption")
		return
	}
	winner := jobSpec{name: "high", ranks: 2, gpus: 8, class: urgent}
	brokered := crashSteps{"broker preempts", preempts(loser, winner), []string{
		"PATCH trainingjobs/high/status", // the plan
		"PATCH trainingjobs/high/status Running", "PATCH trainingjobs/low/status Draining",
		"PATCH trainingjobs/low/status Queued", "PATCH trainingjobs/low/status Running", "POST pods", "DELETE pods",
	}}
	if fake := fakeDialect(fakescheduler.Behavior{}); crashPlan.Includes(fake.name) {
		t.Run("fake", func(t *testing.T) {
			crashEverywhere(t, sharedCluster(t), fake.as(brokerPreempts), brokered)
		})
	}
	crashOnReal(t, brokered, nativeDialect().as(brokerPreempts), volcanoDialect().as(brokerPreempts))
}

// evictsPart of a gang at a time: the operator has to end the rest of the gang.
func evictsPart() *dialect {
	return fakeDialect(fakescheduler.Behavior{Options: []fakescheduler.Option{fakescheduler.EvictsPart}})
}

// crashOnReal plays the cycle on real schedulers, side by side.
func crashOnReal(t *testing.T, c crashSteps, on ...*dialect) {
	for _, d := range on {
		if crashPlan.Includes(d.name) {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				cluster := clusterOf(t, d)
				defer cluster.takeTurn(d)()
				crashEverywhere(t, cluster, d, c)
			})
		}
	}
}

var (
	loser  = jobSpec{name: "low", ranks: 3, gpus: 8, class: low}
	winner = jobSpec{name: "high", ranks: 2, gpus: 8, class: high}
)

func returns() crashSteps {
	return crashSteps{"returns", cycle(loser, winner), []string{
		"PATCH trainingjobs/low/status Queued", "PATCH trainingjobs/low/status Running",
		"PATCH trainingjobs/low/status Draining", "POST pods",
	}}
}

func resumes(name string, end ending) crashSteps {
	c := crashSteps{name, resumeCycle(loser, winner, end), append(returns().required,
		"POST persistentvolumeclaims",
		"PATCH trainingjobs/low/status", // a checkpoint is acknowledged
		"PATCH trainingjobs/low/status Succeeded",
	)}
	if end == savesUnreported {
		c.required = append(c.required, "DELETE pods") // the resolver, once it has finished
	}
	return c
}

// crashEverywhere plays the cycle undisturbed, then once for each crash point of the shard that has not held
// yet.
func crashEverywhere(t *testing.T, cluster *testCluster, d *dialect, c crashSteps) {
	begin := time.Now()
	want, err := attemptScenario(inTime(t), cluster, d, c.steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	points, err := crashPlan.Start(d.name, c.name, EachCrash(want.writes))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("points", func(t *testing.T) {
		for _, point := range points.missing {
			t.Run(point.String(), func(t *testing.T) {
				if d.behavior != nil {
					t.Parallel()
				}
				got, err := attemptScenario(inTime(t), cluster, d, c.steps, []Crash{point})
				if err != nil {
					t.Fatal(err)
				}
				if got.state != want.state {
					t.Fatalf("the outcome is\n%s\nand was, undisturbed,\n%s", got.state, want.state)
				}
				if err := points.Held(point, got.killed); err != nil {
					t.Error(err)
				}
			})
		}
	})
	t.Logf("%d writes, %.0f s; %s\nthe outcome of each:\n%s",
		len(want.writes), time.Since(begin).Seconds(), points, want.state)
	if t.Failed() {
		return // the points that failed are left
	}
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Log("-run selects points: whether they suffice is not judged")
		return
	}
	for _, problem := range points.Problems(c.required) {
		t.Error(problem)
	}
}
