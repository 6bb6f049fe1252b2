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

// TestGangStatus checks the status of the gang that a plan passes to the scheduler.
func TestGangStatus(t *testing.T) {
	cases := map[string]struct {
		reason string
		act    func(*simulation)
		want   scheduler.GangStatus
	}{
		"running": {
			"all admitted ranks are running", func(*simulation) {},
			scheduler.GangStatus{PodsLeft: 2, Ready: true},
		},
		"draining for good": {
			"no restart follows a permanent failure, so the ended rank is free", func(sim *simulation) {
				sim.exit(1, "bert-worker-0")
				sim.reconcile()
			},
			scheduler.GangStatus{PodsLeft: 1, Over: true, Ended: map[string]int32{"worker": 1}},
		},
		"preempted": {
			"a restart follows, so the gang keeps its resources", func(sim *simulation) {
				sim.podsLinger = true
				sim.preempt("bert-worker-0")
				sim.reconcile()
			},
			scheduler.GangStatus{PodsLeft: 2},
		},
		"failed, one pod hangs": {
			"the job is not finished for the scheduler while a pod may run", func(sim *simulation) {
				sim.exit(0)
				sim.converge()
				sim.job.Status.Phase = v1alpha1.PhaseFailed
				sim.pods[0] = sim.pods[0].DeepCopy()
				sim.pods[0].Status.Phase = "Running"
			},
			scheduler.GangStatus{PodsLeft: 1, Over: true, Ended: map[string]int32{"worker": 1}},
		},
		"succeeded": {
			"the job has succeeded", func(sim *simulation) { sim.exit(0); sim.converge() },
			scheduler.GangStatus{Over: true, Ended: map[string]int32{"worker": 2}, Finished: true, Success: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sim := newSimulation(t, jobtest.New(2, restartNever))
			runGang(sim)
			c.act(sim)
			got := Decide(sim.snapshot()).GangStatus
			if got.Now == (metav1.Time{}) || got.Message != sim.job.Status.Message {
				t.Errorf("no time, or not the message of the job: %+v", got)
			}
			ignored := cmpopts.IgnoreFields(scheduler.GangStatus{}, "Now", "Message")
			if diff := cmp.Diff(c.want, got, ignored); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Kueue evicts a gang that is not ready for long, and an elastic gang may never have more than its minimum.
func TestElasticGangIsReadyFromItsMinimum(t *testing.T) {
	sim := newSimulation(t, jobtest.New(4, elastic(2)))
	runGang(sim)
	for _, lost := range []struct {
		rank  string
		ready bool
	}{{"bert-worker-3", true}, {"bert-worker-2", true}, {"bert-worker-1", false}} {
		sim.preempt(lost.rank)
		if got := Decide(sim.snapshot()).GangStatus.Ready; got != lost.ready {
			t.Errorf("without %s and those after it: ready is %v, want %v", lost.rank, got, lost.ready)
		}
	}
}
