package trainingjob

import (
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

// TestCrashAtEveryEffect crashes the operator before each of its effects in turn, over one cycle: a gang
// trains, saves, is stopped, and runs again. Reports and deletion events in memory are lost. The outcome
// stays the same.
func TestCrashAtEveryEffect(t *testing.T) {
	cycles := map[string]func(*simulation){
		"preempted": func(sim *simulation) {
			sim.preempt(sim.rankNames()...)
			sim.converge()
			sim.terminate(exited(143), sim.rankNames()...)
		},
		"nodes lost": (*simulation).loseAllPods,
		"save requested": func(sim *simulation) {
			sim.verdict = judged(scheduler.Yield, "Preempted", "")
			sim.converge()
			if decision.Answer(sim.job).ID == "" { // the report was lost with the operator, so the ranks get SIGTERM
				sim.converge()
			}
			sim.terminate(exited(0), sim.rankNames()...)
			sim.verdict = scheduler.Verdict{Admission: scheduler.Go}
		},
	}
	for name, endGang := range cycles {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				effects := runCycle(t, endGang, at)
				if effects >= at {
					continue
				}
				if at < 20 {
					t.Errorf("only %d effects: that is no complete cycle", effects)
				}
				t.Logf("crashed before each of %d effects", at-1)
				return
			}
		})
	}
}

// runCycle runs one cycle with a crash before the given effect, and returns the number of effects.
func runCycle(t *testing.T, endGang func(*simulation), crashAt int) int {
	sim := newSimulation(t, jobtest.New(3, jobtest.Checkpoints))
	sim.podsLinger = true
	effects := 0
	sim.shouldCrash = func() bool {
		if effects++; effects != crashAt {
			return false
		}
		sim.logf("(the operator dies)")
		sim.departed, sim.report = nil, nil
		return true
	}
	sim.runUntilAttempt(1)
	sim.postReport(10)
	sim.converge()
	sim.advance(30 * time.Second)
	sim.postReport(205, withCommit(sim.saveCheckpoint(200)))
	sim.converge()
	sim.saveCheckpoint(300)
	endGang(sim)
	sim.runUntilAttempt(2)
	st := sim.job.Status
	if st.Attempt != 2 || st.Restarts != 0 || st.Preemptions != 1 {
		t.Errorf("crashed before effect %d: attempt %d, restarts %d, preemptions %d; want 2, 0, 1",
			crashAt, st.Attempt, st.Restarts, st.Preemptions)
	}
	path := "/checkpoints/attempt-1/step-300"
	if unknown := conditionReason(st, v1alpha1.ConditionCheckpointUnknown); resumeStep(st) != 300 ||
		sim.resumePaths[2] != path || unknown != "" {
		t.Errorf("crashed before effect %d: resumes from step %d at %q, checkpoint unknown %q; want 300, %q, none",
			crashAt, resumeStep(st), sim.resumePaths[2], unknown, path)
	}
	if t.Failed() {
		t.Fatal(sim.log.String())
	}
	return effects
}

// runUntilAttempt plays scheduler, kubelets and search until the attempt is running.
func (sim *simulation) runUntilAttempt(attempt int32) {
	sim.t.Helper()
	for range 50 {
		sim.removeTerminating()
		for _, pod := range slices.Clone(sim.pods) {
			if render.IsResolver(pod) && !observation.Ended(pod) {
				sim.finishSearch()
			}
		}
		sim.converge()
		if sim.job.Status.Phase == v1alpha1.PhaseRunning && sim.job.Status.Attempt == attempt {
			return
		}
		for _, name := range sim.rankNames() {
			if pod := sim.findPod(name); pod.Spec.NodeName == "" && sim.gangIsComplete() {
				sim.bind(name)
			} else if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" {
				sim.start(name)
			}
		}
		sim.advanceToWake()
	}
	sim.t.Errorf("attempt %d never ran: %s", attempt, sim.job.Status.Message)
}
