package controller

import (
	"testing"

	"k8s.io/client-go/tools/cache"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestWaitingJobs(t *testing.T) {
	in := func(phase v1alpha1.Phase) *v1alpha1.TrainingJob {
		return &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Phase: phase}}
	}
	waits, runs := in(v1alpha1.PhaseQueued), in(v1alpha1.PhaseRunning)
	w := &waitingJobs{}
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { w.OnAdd(waits, true) }, 1},
		{func() { w.OnAdd(runs, true) }, 1},
		{func() { w.OnAdd(in(""), false) }, 1},
		{func() { w.OnUpdate(in(""), waits) }, 2},
		{func() { w.OnUpdate(waits, waits) }, 2},
		{func() { w.OnUpdate(waits, runs) }, 1},
		{func() { w.OnDelete(runs) }, 1},
		{func() { w.OnDelete(cache.DeletedFinalStateUnknown{Obj: waits}) }, 0},
		{func() { w.OnAdd("no job", false) }, 0},
	} {
		step.do()
		if got := w.count(); got != step.want {
			t.Fatalf("after step %d %d jobs wait, want %d", i, got, step.want)
		}
	}
}
