package trainingjob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestCrashAtEveryEffect kills the operator before each of its effects in turn, over a whole cycle: a gang
// trains, saves, is ended, and runs again. What it knew by reports and deletion events dies with it. The end
// is always the same.
func TestCrashAtEveryEffect(t *testing.T) {
	cycles := map[string]struct {
		end         func(*simulation)
		preemptions int32
	}{
		"preempted": {func(sim *simulation) {
			sim.preempt(sim.rankNames()...)
			sim.converge()
			sim.terminate(exited(143), sim.rankNames()...)
		}, 1},
		"its nodes die": {(*simulation).loseAllPods, 1},
		"asked to save": {func(sim *simulation) {
			sim.verdict = judged(scheduler.Yield, "Preempted", "")
			sim.converge()
			if decision.Answer(sim.job).ID == "" { // its report died with the operator: it gets SIGTERM
				sim.converge()
			}
			sim.terminate(exited(0), sim.rankNames()...)
			sim.verdict = scheduler.Verdict{Admission: scheduler.Go}
		}, 1},
	}
	for name, c := range cycles {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				sim := newSimulation(t, jobtest.New(3, jobtest.Checkpoints))
				sim.podsLinger = true
				effects := 0
				sim.crashesNow = func() bool {
					if effects++; effects != at {
						return false
					}
					sim.logf("(the operator dies)")
					sim.departed, sim.report = nil, nil
					return true
				}
				sim.convergeUntilRunning(1)
				sim.postReport(10)
				sim.converge()
				sim.advance(30 * time.Second)
				sim.postReport(205, withCommit(sim.saveCheckpoint(200)))
				sim.converge()
				sim.saveCheckpoint(300)
				c.end(sim)
				sim.convergeUntilRunning(2)
				st := sim.job.Status
				if st.Attempt != 2 || st.Restarts != 0 || st.Preemptions != c.preemptions || st.Checkpoint.ResumeFrom == nil || st.Checkpoint.ResumeFrom.Step != 300 ||
					sim.resumePaths[2] != "/checkpoints/attempt-1/step-300" || conditionReason(st, v1alpha1.ConditionCheckpointUnknown) != "" {
					t.Errorf("killed before effect %d: attempt %d, restarts %d, preemptions %d, resumes from %q, %s", at, st.Attempt, st.Restarts, st.Preemptions,
						sim.resumePaths[2], fmt.Sprint(st.Conditions))
				}
				if t.Failed() {
					t.Fatal(sim.log.String())
				}
				if effects < at {
					if at < 20 {
						t.Errorf("only %d effects: that is no whole cycle", effects)
					}
					t.Logf("killed before each of %d effects", at-1)
					return
				}
			}
		})
	}
}

// untilRunning lets everybody do their part until the attempt runs.
func (sim *simulation) convergeUntilRunning(attempt int32) {
	sim.t.Helper()
	for range 50 {
		for _, pod := range slices.Clone(sim.pods) {
			switch {
			case pod.DeletionTimestamp != nil:
				sim.removePod(pod.Name)
			case render.IsResolver(pod) && !observation.Ended(pod):
				sim.finishSearch()
			}
		}
		sim.converge()
		if sim.job.Status.Phase == v1alpha1.PhaseRunning && sim.job.Status.Attempt == attempt {
			return
		}
		for _, name := range sim.rankNames() {
			if pod := sim.findPod(name); pod.Spec.NodeName == "" && len(sim.rankNames()) == 3 {
				sim.bind(name)
			} else if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" {
				sim.start(name)
			}
		}
		if !sim.wake.IsZero() && sim.wake.After(sim.now) {
			sim.advance(sim.wake.Sub(sim.now))
		}
	}
	sim.t.Errorf("attempt %d never ran: %s", attempt, sim.job.Status.Message)
}
