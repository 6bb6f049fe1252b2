//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Expectation is a condition on a job.
type Expectation struct {
	say string
	// missing says how the condition is violated; "" when it is met. The job may not exist.
	missing func(e *Env, v *view, name string) string
}

func describeAll(expected []Expectation) string {
	var all []string
	for _, c := range expected {
		all = append(all, c.say)
	}
	return strings.Join(all, ", ")
}

func missing(e *Env, v *view, name string, expected []Expectation) string {
	for _, c := range expected {
		if what := c.missing(e, v, name); what != "" {
			return fmt.Sprintf("%s: %s", name, what)
		}
	}
	return ""
}

// ofStatus is an expectation about the status alone.
func ofStatus(say string, missing func(*v1alpha1.TrainingJobStatus) string) Expectation {
	return Expectation{say, func(_ *Env, v *view, name string) string {
		job := v.jobs[name]
		if job == nil {
			return "there is no such job"
		}
		return missing(&job.Status)
	}}
}

func differs[T comparable](what string, got, want T) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%s is %v, not %v", what, got, want)
}

func is(phase v1alpha1.Phase) Expectation {
	return ofStatus("is "+string(phase), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Phase == phase {
			return ""
		}
		return fmt.Sprintf("phase is %q, not %s: %s", st.Phase, phase, st.Message)
	})
}

// runsWhole expects phase Running with every rank ready.
func runsWhole(ranks int32) Expectation {
	return ofStatus(fmt.Sprintf("runs with %d/%d ranks", ranks, ranks),
		func(st *v1alpha1.TrainingJobStatus) string {
			gang := fmt.Sprintf("%d/%d", ranks, ranks)
			if st.Phase == v1alpha1.PhaseRunning && st.Gang == gang {
				return ""
			}
			return fmt.Sprintf("phase is %q with gang %q: %s", st.Phase, st.Gang, st.Message)
		})
}

func gang(want string) Expectation {
	return ofStatus("has gang "+want,
		func(st *v1alpha1.TrainingJobStatus) string { return differs("gang", st.Gang, want) })
}

func attempt(n int32) Expectation {
	return ofStatus(fmt.Sprintf("is at attempt %d", n), func(st *v1alpha1.TrainingJobStatus) string {
		return differs("attempt", st.Attempt, n)
	})
}

// spent expects the numbers of restarts, which count against backoffLimit, and of preemptions.
func spent(restarts, preemptions int32) Expectation {
	say := fmt.Sprintf("has spent %d restarts and met %d preemptions", restarts, preemptions)
	return ofStatus(say, func(st *v1alpha1.TrainingJobStatus) string {
		return differs("restarts/preemptions", fmt.Sprintf("%d/%d", st.Restarts, st.Preemptions),
			fmt.Sprintf("%d/%d", restarts, preemptions))
	})
}

func neverFailed() Expectation {
	return ofStatus("has no last failure", func(st *v1alpha1.TrainingJobStatus) string {
		if st.LastFailure == nil {
			return ""
		}
		return fmt.Sprintf("lastFailure is %s: %s", st.LastFailure.PodName, st.LastFailure.Message)
	})
}

func lastFailed(pod string, code int32) Expectation {
	return ofStatus(fmt.Sprintf("last failed in %s with %d", pod, code),
		func(st *v1alpha1.TrainingJobStatus) string {
			f := st.LastFailure
			if f == nil || f.ExitCode == nil {
				return "there is no lastFailure with an exit code"
			}
			return differs("lastFailure", fmt.Sprintf("%s/%d", f.PodName, *f.ExitCode),
				fmt.Sprintf("%s/%d", pod, code))
		})
}

// waits expects phase Queued with a blocker that says why.
func waits() Expectation {
	return ofStatus("waits and says why", func(st *v1alpha1.TrainingJobStatus) string {
		c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionAdmitted)
		switch {
		case st.Phase != v1alpha1.PhaseQueued:
			return fmt.Sprintf("phase is %q: %s", st.Phase, st.Message)
		case st.Scheduling == nil || st.Scheduling.Blocker == nil || st.Scheduling.Blocker.Message == "":
			return "status names no blocker"
		case c == nil || c.Status != "False":
			return "condition Admitted is not False"
		}
		return ""
	})
}

func condition(kind string, status string) Expectation {
	return ofStatus(kind+"="+status, func(st *v1alpha1.TrainingJobStatus) string {
		c := meta.FindStatusCondition(st.Conditions, kind)
		if c == nil {
			return "condition " + kind + " is absent"
		}
		return differs("condition "+kind, string(c.Status), status)
	})
}

// reason of the transition into the current phase.
func reason(want string) Expectation {
	return ofStatus("for "+want, func(st *v1alpha1.TrainingJobStatus) string {
		if n := len(st.Transitions); n > 0 {
			return differs("the reason of its phase", st.Transitions[n-1].Reason, want)
		}
		return "it has made no transition"
	})
}

// passed expects that the job was in a phase at some time.
func passed(phase v1alpha1.Phase) Expectation {
	return ofStatus("has been "+string(phase), func(st *v1alpha1.TrainingJobStatus) string {
		for _, t := range st.Transitions {
			if t.Phase == phase {
				return ""
			}
		}
		return "it has never been " + string(phase)
	})
}

func holds(gpus int64) Expectation {
	return Expectation{fmt.Sprintf("holds %d GPUs", gpus), func(_ *Env, v *view, name string) string {
		var n int64
		for _, p := range v.podsOf(name) {
			if p.Spec.NodeName != "" && Live(p) {
				n += GPUsOf(p)
			}
		}
		return differs("the number of GPUs that it holds", n, gpus)
	}}
}

func hasPods(n int) Expectation {
	return Expectation{fmt.Sprintf("has %d pods", n), func(_ *Env, v *view, name string) string {
		return differs("the number of its pods", len(v.podsOf(name)), n)
	}}
}

func hasNoPods() Expectation { return hasPods(0) }

func hasNoGroup() Expectation {
	return Expectation{"has no group", func(e *Env, v *view, name string) string {
		groups := v.groupsOf(name)
		if e.dialect.released != nil {
			groups = slices.DeleteFunc(groups, e.dialect.released)
		}
		return differs("the number of its groups", len(groups), 0)
	}}
}

// hasOneGroup expects the same group ever since the attempt was queued: a group that is created again has
// lost its place.
func hasOneGroup() Expectation {
	return Expectation{"still has its first group", func(_ *Env, v *view, name string) string {
		groups := v.groupsOf(name)
		if len(groups) != 1 {
			return fmt.Sprintf("it has %d groups", len(groups))
		}
		if slices.Contains(v.dropped, groups[0].GetName()) {
			return "its group was deleted and recreated"
		}
		return ""
	}}
}

// ownsItsPods expects no pod of an earlier job of the same name.
func ownsItsPods() Expectation {
	return Expectation{"owns its pods", func(_ *Env, v *view, name string) string {
		for _, p := range v.podsOf(name) {
			if job := v.jobs[name]; job == nil || JobOf(p) != job.UID {
				return p.Name + " is owned by another job of that name"
			}
		}
		return ""
	}}
}

// poll waits for kinds that the recorder does not watch.
func poll(ctx context.Context, missing func(context.Context) (string, error)) error {
	what := ""
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var err error
		what, err = missing(ctx)
		return what == "", err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
