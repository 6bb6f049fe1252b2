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

// TestWhyIsAskedOnlyWhileAJobWaits: for a job that starts at once the state of the cluster is not even looked
// at, since nobody would read the reason.
func TestWhyIsAskedOnlyWhileAJobWaits(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.explanation = noGPUs
	sim.converge()
	sim.bind()
	sim.advance(time.Second)
	sim.converge()
	sim.start()
	sim.converge()
	if sim.explainCalls != 0 || sim.statusWrites != 2 {
		t.Errorf("asked %d times why, %d writes; want 0 and 2 (Queued, Running)",
			sim.explainCalls, sim.statusWrites)
	}
}

// TestAJobThatWaitsLooksAgain: a waiting job is reconciled once in BlockerRefresh, because what it waits for
// mostly is no object that it is notified of. A reconcile that finds nothing new writes nothing.
func TestAJobThatWaitsLooksAgain(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	sim.explanation = noGPUs
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
			t.Fatalf("one reconcile asked %d times", sim.explainCalls-asked)
		}
	}
	if sim.statusWrites != writes {
		t.Errorf("%d writes while the reason stayed the same", sim.statusWrites-writes)
	}
}

// TestThousandsLookRarely: where thousands wait, a job looks again, and writes a reason whose numbers alone
// have changed, the more rarely. A new reason is written as soon as ever.
func TestThousandsLookRarely(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.waiting = 10_000
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	sim.explanation = noGPUs
	sim.converge()
	sim.now = sim.wake
	sim.converge()
	const rarely = 5 * time.Minute
	if got := sim.wake.Sub(sim.now); got != rarely {
		t.Errorf("looks again after %s, want %s", got, rarely)
	}
	writes := sim.statusWrites
	sim.explanation = &scheduler.Explanation{Reason: noGPUs.Reason, Message: "other numbers"}
	sim.now = sim.now.Add(rarely - time.Second)
	sim.converge()
	if sim.statusWrites != writes {
		t.Error("numbers were written before their time")
	}
	sim.now = sim.now.Add(time.Second)
	sim.converge()
	if sim.statusWrites != writes+1 {
		t.Errorf("%d writes when the time had come, want 1", sim.statusWrites-writes)
	}
	sim.explanation = &scheduler.Explanation{Reason: scheduler.ReasonQueueClosed, Message: "closed"}
	sim.now = sim.now.Add(time.Second)
	sim.converge()
	if sim.statusWrites != writes+2 {
		t.Errorf("%d writes of a new reason, want 1", sim.statusWrites-writes-1)
	}
}

// TestQueueFollowsTheSpec: a gang that waits may move to another queue, and begins no attempt with that.
func TestQueueFollowsTheSpec(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4, func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.SchedulingPolicy.Queue = "reserach"
	}))
	sim.verdict = judged(scheduler.Hold, "Unschedulable", "no room")
	sim.converge()
	sim.job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	sim.job.Generation++
	sim.converge()
	if got := sim.job.Status.Scheduling.Queue; got != "research" || sim.job.Status.Attempt != 1 {
		t.Errorf("queue %q, attempt %d", got, sim.job.Status.Attempt)
	}
}

// TestRoomForAMoment: between the end of one gang and the beginning of the next, all that wait have room.
func TestRoomForAMoment(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4))
	sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	behind := &scheduler.Explanation{Reason: scheduler.ReasonWaitingBehind, Message: "2 jobs wait before it"}
	says := func(after time.Duration, why *scheduler.Explanation, writes int, want string) {
		t.Helper()
		before := sim.statusWrites
		sim.advance(after)
		sim.explanation = why
		sim.converge()
		if got := sim.job.Status.Scheduling.Blocker.Reason; got != want || sim.statusWrites != before+writes {
			t.Errorf("says %s after %d writes, want %s after %d", got, sim.statusWrites-before, want, writes)
		}
	}
	lacks, waits := noGPUs.Reason, behind.Reason
	says(0, noGPUs, 1, v1alpha1.ReasonNotJudged) // as every attempt begins
	says(time.Hour, noGPUs, 1, lacks)
	for range 3 {
		says(time.Minute, behind, 0, lacks)
		if want := sim.now.Add(observation.StatusDelay); !sim.wake.Equal(want) {
			t.Errorf("looks again at %s, want %s", sim.wake, want)
		}
		says(observation.StatusDelay-time.Second, noGPUs, 0, lacks)
	}
	says(time.Minute, behind, 0, lacks)
	says(observation.StatusDelay, behind, 1, waits)
	says(time.Second, noGPUs, 1, lacks) // that it cannot begin need not last
}

// TestAGangForWhichOthersMakeRoomWaitsLess: others are asked once it is written that the gang lacks room.
func TestAGangForWhichOthersMakeRoomWaitsLess(t *testing.T) {
	toldAfter := func(begin func(*simulation)) time.Duration {
		sim := newSimulation(t, jobtest.New(2, inClass))
		begin(sim)
		queued := sim.now
		for sim.job.Status.Scheduling.Blocker.Reason != noGPUs.Reason {
			if !sim.wake.After(sim.now) || sim.now.Sub(queued) > time.Minute {
				t.Fatalf("%s after it was queued nothing is told", sim.now.Sub(queued))
			}
			sim.now = sim.wake
			sim.converge()
		}
		return sim.now.Sub(queued)
	}
	withoutBroker := func(sim *simulation) {
		broker(sim)
		sim.job.Status.Scheduling.WaitingClass = ""
	}
	if with, without := toldAfter(broker), toldAfter(withoutBroker); with != 2*time.Second ||
		without != observation.StatusDelay {
		t.Errorf("told after %s, without a broker after %s; want 2s and %s", with, without, observation.StatusDelay)
	}
}

// TestAReasonOutlivesTheProcessThatFoundIt: a process that does not know the cluster yet tells no other
// reason than the one before it did: each of thousands of jobs would cost two writes, and two more when the
// process knows better. Where none was told, what it knows is more than nothing.
func TestAReasonOutlivesTheProcessThatFoundIt(t *testing.T) {
	behind := &scheduler.Explanation{Reason: scheduler.ReasonWaitingBehind, Message: "2 jobs wait before it"}
	waits := func() *simulation {
		sim := newSimulation(t, jobtest.New(4))
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold}
		sim.explanation = noGPUs
		sim.converge()
		return sim
	}
	lateEnough := func(sim *simulation) {
		sim.advance(time.Hour)
		sim.converge()
	}

	sim := waits()
	lateEnough(sim)
	writes := sim.statusWrites
	sim.clusterUnknown, sim.explanation = true, behind
	lateEnough(sim)
	if b := sim.job.Status.Scheduling.Blocker; sim.statusWrites != writes || b.Reason != noGPUs.Reason {
		t.Errorf("%d writes while the cluster was unknown, and it says %q", sim.statusWrites-writes, b.Reason)
	}
	sim.clusterUnknown = false
	lateEnough(sim)
	lateEnough(sim) // room must last
	if b := sim.job.Status.Scheduling.Blocker; b.Reason != behind.Reason {
		t.Errorf("says %q, want %q as soon as the cluster is known", b.Reason, behind.Reason)
	}

	sim = waits()
	sim.clusterUnknown = true
	lateEnough(sim)
	if b := sim.job.Status.Scheduling.Blocker; b.Reason != noGPUs.Reason {
		t.Errorf("says %q where none was told, want %q", b.Reason, noGPUs.Reason)
	}
}
