package trainingjob

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// TestCrashAtEveryEffect kills the operator before each of its effects in turn, over a whole cycle: a gang trains, saves, is ended, and
// runs again. What it knew by reports and deletion events dies with it. The end is always the same.
func TestCrashAtEveryEffect(t *testing.T) {
	cycles := map[string]struct {
		end         func(*world)
		preemptions int32
	}{
		"preempted": {func(w *world) {
			w.preempt(w.names()...)
			w.converge()
			w.ends(exited(143), w.names()...)
		}, 1},
		"its nodes die": {goneSilent, 1},
		"asked to save": {func(w *world) {
			w.verdict = scheduler.Verdict{Admission: scheduler.Yield, Judged: true, Reason: "Preempted"}
			w.converge()
			if Answer(w.job).ID == "" { // its report died with the operator: it gets SIGTERM
				w.converge()
			}
			w.ends(exited(0), w.names()...)
			w.verdict = scheduler.Verdict{Admission: scheduler.Go}
		}, 1},
	}
	for name, c := range cycles {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				w := newWorld(t, newJob(3, withCheckpoints))
				w.lingers = true
				effects := 0
				w.crash = func() bool {
					if effects++; effects != at {
						return false
					}
					w.say("(the operator dies)")
					w.departed, w.report = nil, nil
					return true
				}
				w.untilRunning(1)
				w.reports(10)
				w.converge()
				w.advance(30 * time.Second)
				w.reports(205, w.committed(w.saves(200)))
				w.converge()
				w.saves(300)
				c.end(w)
				w.untilRunning(2)
				st := w.job.Status
				if st.Attempt != 2 || st.Restarts != 0 || st.Preemptions != c.preemptions || st.Checkpoint.ResumeFrom == nil || st.Checkpoint.ResumeFrom.Step != 300 ||
					w.resumed[2] != "/checkpoints/attempt-1/step-300" || conditionReason(st, v1alpha1.ConditionCheckpointUnknown) != "" {
					t.Errorf("killed before effect %d: attempt %d, restarts %d, preemptions %d, resumes from %q, %s", at, st.Attempt, st.Restarts, st.Preemptions,
						w.resumed[2], fmt.Sprint(st.Conditions))
				}
				if t.Failed() {
					t.Fatal(w.log.String())
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
func (w *world) untilRunning(attempt int32) {
	w.t.Helper()
	for range 50 {
		for _, pod := range slices.Clone(w.pods) {
			switch {
			case pod.DeletionTimestamp != nil:
				w.remove(pod.Name)
			case IsResolver(pod) && !Ended(pod):
				w.finds()
			}
		}
		w.converge()
		if w.job.Status.Phase == v1alpha1.PhaseRunning && w.job.Status.Attempt == attempt {
			return
		}
		for _, name := range w.names() {
			if pod := w.find(name); pod.Spec.NodeName == "" && len(w.names()) == 3 {
				w.bind(name)
			} else if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" {
				w.start(name)
			}
		}
		if !w.wake.IsZero() && w.wake.After(w.now) {
			w.advance(w.wake.Sub(w.now))
		}
	}
	w.t.Errorf("attempt %d never ran: %s", attempt, w.job.Status.Message)
}
