package meter

import (
	"sync"
	"testing"

	"k8s.io/client-go/tools/cache"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestJobCounts(t *testing.T) {
	in := func(phase v1alpha1.Phase) *v1alpha1.TrainingJob {
		return &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Phase: phase}}
	}
	waits, runs := in(v1alpha1.PhaseQueued), in(v1alpha1.PhaseRunning)
	c := &JobCounts{}
	for i, step := range []struct {
		do               func()
		waiting, running int64
	}{
		{func() { c.OnAdd(waits, true) }, 1, 0},
		{func() { c.OnAdd(runs, true) }, 1, 1},
		{func() { c.OnAdd(in(""), false) }, 1, 1},
		{func() { c.OnUpdate(in(""), waits) }, 2, 1},
		{func() { c.OnUpdate(waits, waits) }, 2, 1},
		{func() { c.OnUpdate(waits, runs) }, 1, 2},
		{func() { c.OnDelete(runs) }, 1, 1},
		{func() { c.OnDelete(cache.DeletedFinalStateUnknown{Obj: waits}) }, 0, 1},
		{func() { c.OnAdd("no job", false) }, 0, 1},
	} {
		step.do()
		waiting, running := c.Waiting.Load(), c.Running.Load()
		if waiting != step.waiting || running != step.running {
			t.Fatalf("after step %d %d jobs wait and %d run, want %d and %d", i, waiting, running, step.waiting,
				step.running)
		}
	}
}

// TestJobCountsWhileAJobChanges: a waiting job is counted at every moment of an update. A planner that counts
// no waiting job would revoke all plans.
func TestJobCountsWhileAJobChanges(t *testing.T) {
	waits := &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued}}
	c := &JobCounts{}
	c.OnAdd(waits, false)
	var updates sync.WaitGroup
	updates.Go(func() {
		for range 1_000_000 {
			c.OnUpdate(waits, waits)
		}
	})
	done := make(chan struct{})
	go func() { updates.Wait(); close(done) }()
	for {
		if n := c.Waiting.Load(); n != 1 {
			t.Fatalf("%d jobs wait, want 1", n)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
