package trainingjob

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/status"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// noGPUs explains why a gang of 4 ranks waits.
var noGPUs = &scheduler.Explanation{
	Reason: scheduler.ReasonInsufficientResources, Message: "needs 8 GPUs, 0 free",
}

// TestExplanationOnlyForWaitingJob checks that a job that starts at once requests no explanation.
func TestExplanationOnlyForWaitingJob(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.explanation = noGPUs
	sim.converge()
	sim.bind()
	sim.advance(time.Second)
	sim.converge()
	sim.start()
	sim.converge()
	if sim.explainCalls != 0 || sim.statusWrites != 2 {
		t.Errorf("%d explanations, %d writes; want 0 and 2 (Queued, Running)",
			sim.explainCalls, sim.statusWrites)
	}
}

// TestWaitingJobRefreshesReason checks that a waiting job is reconciled once per BlockerRefresh. Changes of
// free capacity mostly send the job no event. A reconcile that finds the same reason writes nothing.
func TestWaitingJobRefreshesReason(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	sim.explanation = noGPUs
	sim.converge()
	if want := sim.now.Add(observation.StatusDelay); !sim.wake.Equal(want) {
		t.Fatalf("wakes at %s, want %s, when the reason is due", sim.wake, want)
	}
	sim.now = sim.wake
	sim.converge()
	writes := sim.statusWrites
	for range 10 {
		calls := sim.explainCalls
		if sim.wake.IsZero() || sim.wake.Sub(sim.now) > status.BlockerRefresh {
			t.Fatalf("wakes at %s, want within %s of %s", sim.wake, status.BlockerRefresh, sim.now)
		}
		sim.now = sim.wake
		sim.reconcile()
		if sim.explainCalls != calls+1 {
			t.Fatalf("one reconcile requested %d explanations", sim.explainCalls-calls)
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("%d writes of an unchanged reason", sim.statusWrites-writes)
	}
}

// TestManyWaitingJobsRefreshRarely checks that with thousands of waiting jobs the operator refreshes a reason
// less often, and writes changed numbers less often. It writes a new reason at once.
func TestManyWaitingJobsRefreshRarely(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.waiting = 10_000
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	sim.explanation = noGPUs
	sim.converge()
	sim.now = sim.wake
	sim.converge()
	const interval = 5 * time.Minute
	if got := sim.wake.Sub(sim.now); got != interval {
		t.Errorf("refreshes after %s, want %s", got, interval)
	}
	writes := sim.statusWrites
	sim.explanation = &scheduler.Explanation{Reason: noGPUs.Reason, Message: "other numbers"}
	sim.now = sim.now.Add(interval - time.Second)
	sim.converge()
	if sim.statusWrites != writes {
		t.Error("changed numbers were written too early")
	}
	sim.now = sim.now.Add(time.Second)
	sim.converge()
	if sim.statusWrites != writes+1 {
		t.Errorf("%d writes after the interval, want 1", sim.statusWrites-writes)
	}
	sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Message: "closed"}
	sim.now = sim.now.Add(time.Second)
	sim.converge()
	if sim.statusWrites != writes+2 {
		t.Errorf("%d writes of a new reason, want 1", sim.statusWrites-writes-1)
	}
}

// TestQueueEditWhileQueued checks that a waiting gang changes its queue within the same attempt.
func TestQueueEditWhileQueued(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "reserach"
	}))
	sim.verdict = judged(scheduler.Hold, "Unschedulable", "no capacity")
	sim.converge()
	sim.job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	sim.job.Generation++
	sim.converge()
	if got := sim.job.Status.Scheduling.Queue; got != "research" || sim.job.Status.Attempt != 1 {
		t.Errorf("queue %q, attempt %d", got, sim.job.Status.Attempt)
	}
}

// TestReasonIgnoresBriefCapacity checks that capacity that is free only between two gangs changes no reason.
func TestReasonIgnoresBriefCapacity(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	behind := &scheduler.Explanation{Reason: scheduler.ReasonWaitingBehind, Message: "2 jobs wait before it"}
	expect := func(after time.Duration, why *scheduler.Explanation, writes int, want string) {
		t.Helper()
		before := sim.statusWrites
		sim.advance(after)
		sim.explanation = why
		sim.converge()
		if got := sim.job.Status.Scheduling.Blocker.Reason; got != want || sim.statusWrites != before+writes {
			t.Errorf("reason %s after %d writes, want %s after %d", got, sim.statusWrites-before, want, writes)
		}
	}
	lacks, waits := noGPUs.Reason, behind.Reason
	expect(0, noGPUs, 1, v1alpha1.ReasonNotJudged) // every attempt starts with this reason
	expect(time.Hour, noGPUs, 1, lacks)
	for range 3 {
		expect(time.Minute, behind, 0, lacks)
		if want := sim.now.Add(observation.StatusDelay); !sim.wake.Equal(want) {
			t.Errorf("refreshes at %s, want %s", sim.wake, want)
		}
		expect(observation.StatusDelay-time.Second, noGPUs, 0, lacks)
	}
	expect(time.Minute, behind, 0, lacks)
	expect(observation.StatusDelay, behind, 1, waits)
	expect(time.Second, noGPUs, 1, lacks) // a lack of capacity is written at once
}

// TestReasonDelayOfPreemptor checks that the reason of a gang that may preempt is written earlier: the broker
// requests checkpoints of victims only after that.
func TestReasonDelayOfPreemptor(t *testing.T) {
	reasonDelay := func(begin func(*simulation)) time.Duration {
		sim := newSimulation(t, jobtest.New(2, withPriorityClass))
		begin(sim)
		queued := sim.now
		for sim.job.Status.Scheduling.Blocker.Reason != noGPUs.Reason {
			if !sim.wake.After(sim.now) || sim.now.Sub(queued) > time.Minute {
				t.Fatalf("no reason %s after the job was queued", sim.now.Sub(queued))
			}
			sim.now = sim.wake
			sim.converge()
		}
		return sim.now.Sub(queued)
	}
	withoutBroker := func(sim *simulation) {
		enableBroker(sim)
		sim.job.Status.Scheduling.WaitingClass = ""
	}
	if with, without := reasonDelay(enableBroker), reasonDelay(withoutBroker); with != 2*time.Second ||
		without != observation.StatusDelay {
		t.Errorf("reason after %s, without a broker after %s; want 2s and %s", with, without,
			observation.StatusDelay)
	}
}

// TestReasonKeptAfterRestart checks that a new operator process keeps the persisted reason until its caches
// have synced. Otherwise each of thousands of jobs would cost up to four writes. A job without a reason gets
// one.
func TestReasonKeptAfterRestart(t *testing.T) {
	behind := &scheduler.Explanation{Reason: scheduler.ReasonWaitingBehind, Message: "2 jobs wait before it"}
	newWaiting := func() *simulation {
		sim := newSimulation(t, jobtest.New(4))
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
		sim.explanation = noGPUs
		sim.converge()
		return sim
	}
	waitAnHour := func(sim *simulation) {
		sim.advance(time.Hour)
		sim.converge()
	}

	sim := newWaiting()
	waitAnHour(sim)
	writes := sim.statusWrites
	sim.clusterUnknown, sim.explanation = true, behind
	waitAnHour(sim)
	if b := sim.job.Status.Scheduling.Blocker; sim.statusWrites != writes || b.Reason != noGPUs.Reason {
		t.Errorf("%d writes while the cluster was unknown, reason %q", sim.statusWrites-writes, b.Reason)
	}
	sim.clusterUnknown = false
	waitAnHour(sim)
	waitAnHour(sim) // the capacity must stay free
	if b := sim.job.Status.Scheduling.Blocker; b.Reason != behind.Reason {
		t.Errorf("reason %q, want %q as soon as the cluster is known", b.Reason, behind.Reason)
	}

	sim = newWaiting()
	sim.clusterUnknown = true
	waitAnHour(sim)
	if b := sim.job.Status.Scheduling.Blocker; b.Reason != noGPUs.Reason {
		t.Errorf("reason %q of a job without one, want %q", b.Reason, noGPUs.Reason)
	}
}
