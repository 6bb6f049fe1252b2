package trainingjob

import (
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// wantNames checks the ranks, by number, that have a host name.
func (sim *simulation) wantNames(why string, attempt int32, ranks ...int) {
	sim.t.Helper()
	sim.converge()
	var named []int
	for n := range sim.names {
		named = append(named, n)
	}
	slices.Sort(named)
	if !slices.Equal(named, ranks) || sim.namesOf != attempt {
		sim.t.Fatalf("%s: ranks %v of attempt %d have names, want %v of %d\n%s", why, named, sim.namesOf,
			ranks, attempt, sim.log.String())
	}
}

func TestNamesOfCompleteGang(t *testing.T) {
	sim := newSimulation(t, jobtest.New(3))
	sim.converge()
	sim.bind()
	sim.wantNames("no rank has an address", 0)
	sim.start("bert-worker-0", "bert-worker-1")
	sim.advance(time.Minute)
	sim.wantNames("two ranks cannot start without the third", 0)
	sim.start("bert-worker-2")
	sim.wantNames("all have an address", 1, 0, 1, 2)
	sim.exit(0, "bert-worker-1")
	sim.advance(time.Minute)
	sim.wantNames("a rank that has succeeded keeps its name", 1, 0, 1, 2)
	sim.exit(0)
	sim.wantNames("the job has succeeded, and its Service is deleted", 0)
}

func TestNamesOfPartialGang(t *testing.T) {
	job := jobtest.New(4)
	job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(2))
	sim := newSimulation(t, job)
	sim.converge()
	sim.bind("bert-worker-0", "bert-worker-1", "bert-worker-2")
	sim.start("bert-worker-0", "bert-worker-1")
	sim.wantNames("a third rank may follow", 0)
	if want := sim.now.Add(2 * time.Second); sim.wake.After(want) {
		t.Errorf("wakes at %s, want %s", sim.wake, want)
	}
	sim.advance(2 * time.Second)
	sim.wantNames("two can start without the others", 1, 0, 1)
	sim.start("bert-worker-2")
	sim.advance(2 * time.Second)
	sim.wantNames("the third rank has a name", 1, 0, 1, 2)
	sim.preempt("bert-worker-0")
	sim.wantNames("a rank is replaced, and its old name is removed", 1, 1, 2)
	sim.bindAndStart("bert-worker-0", "bert-worker-3")
	sim.wantNames("all ranks have names", 1, 0, 1, 2, 3)
}

func TestNamesEndWithAttempt(t *testing.T) {
	for why, end := range map[string]func(*simulation){
		"preempted": func(sim *simulation) { sim.preempt("bert-worker-0") },
		"failed":    func(sim *simulation) { sim.exit(1, "bert-worker-0") },
		"suspended": func(sim *simulation) { setSuspend(sim, true) },
	} {
		t.Run(why, func(t *testing.T) {
			sim := newSimulation(t, jobtest.New(2))
			runGang(sim)
			sim.wantNames("the job is running", 1, 0, 1)
			end(sim)
			sim.wantNames(why, 0) // checkNamesOf checks the ranks created before that
		})
	}
}

func TestNamesKeptWithPods(t *testing.T) {
	job := jobtest.New(2)
	job.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodNone
	sim := newSimulation(t, job)
	runGang(sim)
	sim.exit(0, "bert-worker-0")
	sim.exit(0, "bert-worker-1")
	sim.wantNames("the Service and the names stay", 1, 0, 1)
}

// TestWaitingJobHasNoService checks that waiting jobs, of which there can be thousands, have no Service.
func TestWaitingJobHasNoService(t *testing.T) {
	sim := newSimulation(t, jobtest.New(2))
	sim.verdict = judged(scheduler.Hold, "Unschedulable", "no capacity")
	sim.converge()
	if p := Decide(sim.snapshot()); p.Group != decision.Apply || p.Service != decision.Keep {
		t.Errorf("got group %s, Service %s", p.Group, p.Service)
	}
	sim.verdict = judged(scheduler.Go, "", "")
	if p := Decide(sim.snapshot()); len(p.Create) != 2 || p.Service != decision.Apply {
		t.Errorf("creates %d ranks, Service %s", len(p.Create), p.Service)
	}
	sim.converge()
	if p := Decide(sim.snapshot()); p.Service != decision.Apply {
		t.Errorf("got Service %s", p.Service)
	}
}
