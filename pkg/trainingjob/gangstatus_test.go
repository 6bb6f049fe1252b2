package trainingjob

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestGangStatus checks what a plan tells the scheduler of the gang.
func TestGangStatus(t *testing.T) {
	never := func(j *v1alpha1.TrainingJob) { j.Spec.RestartPolicy = v1alpha1.RestartNever }
	cases := map[string]struct {
		reason string
		act    func(*simulation)
		want   scheduler.GangStatus
	}{
		"running": {
			"all admitted ranks run", func(*simulation) {},
			scheduler.GangStatus{PodsLeft: 2, Running: true, Ready: true},
		},
		"draining for good": {
			"no restart follows a permanent failure: what has ended is free", func(sim *simulation) {
				sim.exit(1, "bert-worker-0")
				sim.reconcile()
			},
			scheduler.GangStatus{PodsLeft: 1, Over: true, Ended: map[string]int32{"worker": 1}},
		},
		"preempted": {
			"a restart follows: nothing is free until the scheduler takes it", func(sim *simulation) {
				sim.podsLinger = true
				sim.preempt("bert-worker-0")
				sim.reconcile()
			},
			scheduler.GangStatus{PodsLeft: 2},
		},
		"failed, one pod hangs": {
			"a job is not finished for its scheduler while one of its pods may run", func(sim *simulation) {
				sim.exit(0)
				sim.converge()
				sim.job.Status.Phase = v1alpha1.PhaseFailed
				sim.pods[0] = sim.pods[0].DeepCopy()
				sim.pods[0].Status.Phase = "Running"
			},
			scheduler.GangStatus{PodsLeft: 1, Over: true, Ended: map[string]int32{"worker": 1}},
		},
		"succeeded": {
			"the end", func(sim *simulation) { sim.exit(0); sim.converge() },
			scheduler.GangStatus{Over: true, Ended: map[string]int32{"worker": 2}, Finished: true, Success: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sim := newSimulation(t, jobtest.New(2, never))
			runGang(sim)
			c.act(sim)
			got := Decide(sim.snapshot()).GangStatus
			if got.Now == (metav1.Time{}) || got.Message != sim.job.Status.Message {
				t.Errorf("it lacks the time or the job's message: %+v", got)
			}
			ignored := cmpopts.IgnoreFields(scheduler.GangStatus{}, "Now", "Message")
			if diff := cmp.Diff(c.want, got, ignored); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
