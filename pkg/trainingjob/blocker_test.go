package trainingjob

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A job that starts at once must cost nothing for reasons that nobody will read: the cluster is not even asked.
func TestWhyIsAskedOnlyWhileAJobWaits(t *testing.T) {
	w := newWorld(t, newJob(4))
	w.why = &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "needs 8 GPUs, 0 free"}
	w.converge()
	w.bind()
	w.advance(time.Second)
	w.converge()
	w.start()
	w.converge()
	if w.asked != 0 || w.statusWrites != 2 {
		t.Errorf("asked %d times why, %d writes; want 0 and 2 (Queued, Running)", w.asked, w.statusWrites)
	}
}

// While a job waits, what it waits for mostly is no object of its own: time alone must bring the next look, and a look
// that finds nothing new writes nothing.
func TestAJobThatWaitsLooksAgain(t *testing.T) {
	w := newWorld(t, newJob(4))
	w.verdict = scheduler.Verdict{Admission: scheduler.Hold}
	w.why = &scheduler.Explanation{Reason: scheduler.ReasonInsufficientResources, Message: "needs 8 GPUs, 0 free"}
	w.converge()
	if want := w.now.Add(StatusDelay); !w.wake.Equal(want) {
		t.Fatalf("wakes at %s, want %s: when the reason is due", w.wake, want)
	}
	w.now = w.wake
	w.converge()
	writes := w.statusWrites
	for range 10 {
		asked := w.asked
		if w.wake.IsZero() || w.wake.Sub(w.now) > blockerRefresh {
			t.Fatalf("wakes at %s, want within %s of %s", w.wake, blockerRefresh, w.now)
		}
		w.now = w.wake
		w.pass()
		if w.asked != asked+1 {
			t.Fatalf("one pass asked %d times", w.asked-asked)
		}
	}
	if w.statusWrites != writes {
		t.Errorf("%d writes while the reason stayed the same", w.statusWrites-writes)
	}
}
