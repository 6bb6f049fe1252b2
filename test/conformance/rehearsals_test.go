//go:build cluster

package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
)

var rehearsalsInFull = flag.Bool("rehearsals", false,
	"rehearse fifteen trainers on each real scheduler, which takes ten minutes on each")

// shortRehearsals are those that make test-all plays, on one scheduler.
var shortRehearsals = []string{"sound", "ignores-resume", "one-shard", "torn-saves"}

// rehearsalJob is a job of two ranks.
func rehearsalJob(r simtrainer.Rehearsed) jobSpec {
	policy := &v1alpha1.RehearsalPolicy{Ways: r.Ways}
	if r.Timeout > 0 {
		policy.TimeoutSeconds = ptr.To(r.Timeout)
	}
	return jobSpec{
		name: r.Name, ranks: 2, gpus: 1, trainer: r.Trainer, retain: v1alpha1.DeleteClaim,
		grace: simtrainer.RehearsalGrace, rehearsal: policy,
	}
}

// rehearse submits trainers that run side by side, kills the operator in each attempt of each, and compares
// what it finds.
func rehearse(trainers []simtrainer.Rehearsed) []Step {
	var steps []Step
	for _, r := range trainers {
		steps = append(steps, submit(rehearsalJob(r)))
	}
	return append(steps,
		Step{"all are rehearsed, and the operator is killed in each attempt",
			func(ctx context.Context, e *Env) error { return killInEachAttempt(ctx, e, trainers) }},
		Step{"exactly the expected checks fail", func(ctx context.Context, e *Env) error {
			v, err := e.look(ctx)
			if err != nil {
				return err
			}
			var wrong []error
			for _, r := range trainers {
				st := v.jobs[r.Name].Status.Rehearsal
				for _, text := range r.Differences(st.Checks, st.Result, lostChecks(st)...) {
					wrong = append(wrong, fmt.Errorf("%s: %s", r.Name, text))
				}
			}
			return errors.Join(wrong...)
		}})
}

// lostChecks returns Exit if the operator was away while the last attempt saved or exited. No next agent
// reports what it missed then.
func lostChecks(st *v1alpha1.RehearsalStatus) []v1alpha1.RehearsalCheckName {
	n := len(st.Attempts)
	if n == 0 || st.Attempts[n-1].SavedAfterSeconds != nil && st.Attempts[n-1].ExitCode != nil {
		return nil
	}
	return []v1alpha1.RehearsalCheckName{v1alpha1.CheckExit}
}

// played is an attempt of a job.
type played struct {
	job     string
	attempt int32
}

// killInEachAttempt kills the operator whenever a job runs or drains in another attempt, until the rehearsals
// are over. One kill is enough for all jobs that run or drain at that moment.
func killInEachAttempt(ctx context.Context, e *Env, trainers []simtrainer.Rehearsed) error {
	killed, attempts := map[played]bool{}, map[string]int32{}
	for over := false; !over; {
		var active []played
		err := e.recorder.until(ctx, func(v *view) string {
			var left []string
			active, left = activeRehearsals(v, trainers)
			over = len(left) == 0
			if over || slices.ContainsFunc(active, func(p played) bool { return !killed[p] }) {
				return ""
			}
			return fmt.Sprintf("%v are not over", left)
		})
		if err != nil {
			return err
		}
		isKilled := !over && e.operator.kill()
		for _, p := range active {
			killed[p], attempts[p.job] = killed[p] || isKilled, p.attempt
		}
		if err := pass(ctx, downtime); err != nil { // between two runs, there is no operator to kill
			return err
		}
	}
	for name, last := range attempts {
		for n := int32(1); n <= last; n++ {
			if !killed[played{name, n}] {
				return fmt.Errorf("the operator was not killed in attempt %d of %s", n, name)
			}
		}
	}
	return nil
}

// activeRehearsals returns those that run or drain, and the names of those that are not over.
func activeRehearsals(v *view, trainers []simtrainer.Rehearsed) (active []played, left []string) {
	for _, r := range trainers {
		job := v.jobs[r.Name]
		if job == nil || job.Status.Rehearsal == nil || job.Status.Rehearsal.Result == "" {
			left = append(left, r.Name)
		}
		if job == nil {
			continue
		}
		if phase := job.Status.Phase; phase == v1alpha1.PhaseRunning || phase == v1alpha1.PhaseDraining {
			active = append(active, played{r.Name, job.Status.Attempt})
		}
	}
	return active, left
}

// TestRehearsals rehearses twelve broken trainers and three sound ones on every real scheduler, with the
// operator killed in each attempt: exactly the expected checks fail. Without -rehearsals, it rehearses four
// on one scheduler.
func TestRehearsals(t *testing.T) {
	t.Parallel()
	dialects, trainers := realDialects(), simtrainer.Rehearsals()
	if !*rehearsalsInFull {
		dialects = []*dialect{nativeDialect()}
		trainers = slices.DeleteFunc(trainers, func(r simtrainer.Rehearsed) bool {
			return !slices.Contains(shortRehearsals, r.Name)
		})
	}
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, d)
			defer cluster.takeTurn(d)()
			slow := *d
			slow.timeout = 20 * time.Minute
			if _, err := attemptScenario(inTime(t), cluster, &slow, rehearse(trainers), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}
