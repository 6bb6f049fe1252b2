package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// panickyBackend panics where it meets the job of a name.
type panickyBackend struct {
	scheduler.Backend
	job string
	// whileJoining: it panics in the goroutine that creates a pod.
	whileJoining bool
}

func (b *panickyBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	if g.Name == b.job && !b.whileJoining {
		panic("no such queue")
	}
	return b.Backend.Objects(g)
}

func (b *panickyBackend) Join(pod *corev1.Pod, g scheduler.Gang, v scheduler.Verdict) {
	if g.Name == b.job && b.whileJoining {
		panic("no such queue")
	}
	b.Backend.Join(pod, g, v)
}

func (f *fixture) panicsIn(activity string) float64 {
	return f.counted("trainingjob_operator_panics_total", activity)
}

// TestReconcilePanics: the panic of a reconcile, or of a goroutine that it started, is an error of that job.
// The metric counts each panic, one event reports them, and another job is reconciled as before.
func TestReconcilePanics(t *testing.T) {
	for name, whileJoining := range map[string]bool{"in the reconcile": false, "while it creates a pod": true} {
		t.Run(name, func(t *testing.T) {
			other := bert(1)
			other.Name, other.UID = "other", "uid-other"
			backend := &panickyBackend{
				Backend: native.New(native.Options{}), job: "bert", whileJoining: whileJoining,
			}
			f := newFixtureOn(t, backend, bert(1), other)
			events := 0
			for range 10 {
				f.sync()
				did, _, err := f.reconcile(t.Context())
				if err != nil && !strings.Contains(err.Error(), "panic: no such queue") {
					t.Fatal(err)
				}
				for _, what := range did {
					if what == "event "+eventPanicked {
						events++
					}
				}
				f.reconcileJob("other")
			}
			if n := f.panicsIn(meter.ActivityReconcile); n < 2 || events != 1 {
				t.Errorf("%v panics are counted and %d events emitted", n, events)
			}
			if phase := f.statusOf("other").Phase; phase == "" || phase == v1alpha1.PhasePending {
				t.Errorf("the other job is %q", phase)
			}
			pod := &corev1.Pod{}
			key := types.NamespacedName{Namespace: bertName.Namespace, Name: "other-worker-0"}
			if err := f.store.Get(t.Context(), key, pod); err != nil {
				t.Errorf("the other job: %v", err)
			}
		})
	}
}

// panickyReports panics when the planner asks about a job.
type panickyReports struct{ job types.UID }

func (r panickyReports) Reported(job types.UID) (int32, time.Time, bool) {
	if job == r.job {
		panic("no such report")
	}
	return 0, time.Time{}, false
}

// TestPlannerPanics: a pass leaves out a job that makes it panic, and plans for the others. A panic of the
// whole pass does not stop the next one.
func TestPlannerPanics(t *testing.T) {
	f := brokeredFixture(t)
	p := f.r.gatherer.planner
	p.Reports = panickyReports{"uid-stale"}
	f.did = nil
	for pass := range 2 {
		if diff := cmp.Diff([]types.NamespacedName{bertName}, f.plan()); diff != "" {
			t.Errorf("pass %d wakes (-want +got):\n%s", pass, diff)
		}
	}
	if n := f.panicsIn(meter.ActivityPlan); n != 2 {
		t.Errorf("%v panics are counted", n)
	}
	if diff := cmp.Diff([]string{"event " + eventPanicked}, f.did); diff != "" {
		t.Errorf("did (-want +got):\n%s", diff)
	}
	p.Reports = nil
	p.Waker = wakeFunc(func() { panic("no such queue") })
	p.Pass(t.Context())
	p.Pass(t.Context())
	if n := f.panicsIn(meter.ActivityPlan); n != 4 {
		t.Errorf("%v panics are counted", n)
	}
}
