package trainingjob

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// hostile clears the screen, sets the title of the terminal, reverses the direction and is not UTF-8.
const hostile = "a\x1b[2J\x1b]0;title\x07b\u202ec\u009b31md\x00\u200ee\xff\x1bPf\r\ng\ah"

// TestForeignTextIsSanitized checks that text of trainers, kubelets, registries and schedulers puts no
// control character into the status, the events or the gang status. Only the log of a failure keeps its line
// breaks.
func TestForeignTextIsSanitized(t *testing.T) {
	fail := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		setContainerState(p, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: hostile, Message: hostile,
		}})
	}
	const rank = "bert-worker-1"
	for name, happens := range map[string]func(*simulation){
		"a termination message": func(sim *simulation) { sim.updatePod(rank, fail) },
		"an agent's termination message": func(sim *simulation) {
			sim.updatePod(rank, func(p *corev1.Pod) {
				fail(p)
				t := p.Status.ContainerStatuses[0].State.Terminated
				t.Reason, t.Message = "Error", "{\"reason\":\"Signaled\",\"exitCode\":1,\"signal\":\"SIGBUS\u200e\","+
					`"log":"a\u001b[31mred\u001b[0m\r10%\r20%\nlast\u202e line\u0007"}`
			})
		},
		"a failed pod": func(sim *simulation) {
			sim.updatePod(rank, func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, hostile, hostile
			})
		},
		"an evicted pod": func(sim *simulation) {
			sim.updatePod(rank, func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", hostile
			})
		},
		"a rejected pod": func(sim *simulation) {
			sim.updatePod(rank, func(p *corev1.Pod) {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "OutOf"+hostile, hostile
			})
		},
		"a disrupted pod": func(sim *simulation) {
			sim.updatePod(rank, func(p *corev1.Pod) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: hostile, Message: hostile,
				})
			})
		},
		"a scheduler that evicts": func(sim *simulation) {
			sim.verdict = scheduler.Verdict{Admission: scheduler.Yield, Reason: "Preempted", Message: hostile}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim := newSimulation(t, jobtest.New(2))
			runGang(sim)
			happens(sim)
			expectPlain(sim)
		})
	}
	t.Run("waiting", func(t *testing.T) {
		sim := newSimulation(t, jobtest.New(2))
		sim.converge()
		sim.updatePod(rank, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: hostile,
			}}
		})
		expectPlain(sim)
		sim.verdict = scheduler.Verdict{Admission: scheduler.Hold, Reason: "QuotaExceeded", Message: hostile,
			NextStep: hostile}
		expectPlain(sim)
		sim.explanation = &scheduler.Explanation{Reason: "QuotaExceeded", Message: hostile, NextStep: hostile}
		expectPlain(sim)
	})
	for _, reason := range []string{"ErrImagePull", "CreateContainerConfigError", hostile} {
		t.Run("a waiting container: "+reason, func(t *testing.T) {
			sim := newSimulation(t, jobtest.New(2))
			sim.converge()
			sim.bind()
			sim.failImagePull(rank, reason)
			sim.updatePod(rank, func(p *corev1.Pod) {
				p.Status.ContainerStatuses[0].Image = hostile
				p.Status.ContainerStatuses[0].State.Waiting.Message = hostile
			})
			expectPlain(sim)
		})
	}
}

// expectPlain checks the next 20 plans of the job.
func expectPlain(sim *simulation) {
	sim.t.Helper()
	for range 20 {
		plan := Decide(sim.snapshot())
		expectPlainIn(sim.t, "status", reflect.ValueOf(plan.Status))
		expectPlainIn(sim.t, "events", reflect.ValueOf(plan.Events))
		expectPlainIn(sim.t, "gang status", reflect.ValueOf(plan.GangStatus))
		if !sim.reconcile() {
			sim.advance(10 * time.Second)
		}
	}
}

func expectPlainIn(t testing.TB, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			expectPlainIn(t, path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				expectPlainIn(t, path+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			expectPlainIn(t, path, v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			expectPlainIn(t, path+"["+k.String()+"]", v.MapIndex(k))
		}
	case reflect.String:
		s := v.String()
		lines := strings.HasSuffix(path, ".LastFailure.Message")
		isControl := func(r rune) bool {
			return (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) &&
				!(lines && (r == '\n' || r == '\t'))
		}
		if !utf8.ValidString(s) || strings.ContainsFunc(s, isControl) {
			t.Errorf("%s is %q", path, s)
		}
	}
}

// FuzzForeignText checks that sanitized text has no control character, and does not change when sanitized
// again.
func FuzzForeignText(f *testing.F) {
	for _, s := range []string{
		hostile, "plain", "two\nlines\twith a tab", "\x1b", "\x1b[", "\x1b]0;", "é漢🙂", "\xc2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for path, got := range map[string]string{
			"line": observation.Line(s), ".LastFailure.Message": observation.Lines(s),
		} {
			expectPlainIn(t, path, reflect.ValueOf(got))
			if again := map[string]func(string) string{
				"line": observation.Line, ".LastFailure.Message": observation.Lines,
			}[path](got); again != got {
				t.Errorf("%q becomes %q and then %q", s, got, again)
			}
			if len(got) > 3*len(s) {
				t.Errorf("%q grew to %q", s, got)
			}
		}
	})
}

func TestLinesOfForeignText(t *testing.T) {
	for text, want := range map[string]string{
		"é漢🙂 [31m 100% <ok>":                           "é漢🙂 [31m 100% <ok>",
		"Traceback:\n\tKeyError: 'x'":                  "Traceback:\n\tKeyError: 'x'",
		"\x1b[1;31mERROR\x1b[0m: CUDA out of memory\n": "ERROR: CUDA out of memory",
		" 10%|#   \r 20%|##  \r\ndone":                 "10%|#   \n 20%|##  \ndone",
	} {
		if got := observation.Lines(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
