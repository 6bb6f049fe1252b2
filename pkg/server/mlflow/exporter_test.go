package mlflow

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestRunOfAJob: one run has all attempts, whether it was sent version by version or all at once, and sending
// it again changes nothing.
func TestRunOfAJob(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e := f.exporter()
	f.story("bert", func() { f.converge(e) })
	golden(t, "bert", f.run().text())
	if got, want := f.annotation("bert"), f.run().id; got != want {
		t.Errorf("the annotation names %q, the run is %s", got, want)
	}

	late := newFixture(t, newJob("bert"))
	late.story("bert", func() {})
	late.converge(late.exporter())
	golden(t, "bert", late.run().text())
	if got := late.annotation("bert"); got != "" {
		t.Errorf("a job that had ended is annotated with %s", got)
	}

	f.history = newHistory(t) // the state of what was sent is lost
	j := newJob("bert")
	j.Labels = map[string]string{"a": "b"} // so that something is pending
	enter(j, 0, v1alpha1.PhaseQueued, 1, v1alpha1.ReasonQueued)
	f.story("bert", func() {})
	f.record(j)
	f.converge(f.exporter())
	if len(f.mlflow.runs) != 1 {
		t.Errorf("%d runs", len(f.mlflow.runs))
	}
}

// TestSilence: where nothing has changed nothing is asked, and what has changed costs one request.
func TestSilence(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e, j := f.exporter(), newJob("bert")
	enter(j, 1, v1alpha1.PhaseRunning, 1, v1alpha1.ReasonGangRunning)
	f.record(j)
	f.converge(e)
	before := f.mlflow.requests
	f.converge(e)
	if n := f.mlflow.requests - before; n != 0 {
		t.Errorf("%d requests about nothing", n)
	}
	report(j, 2, 10, map[string]string{"loss": "1"})
	f.record(j)
	f.converge(e)
	if n := f.mlflow.requests - before; n != 1 {
		t.Errorf("%d requests for a report", n)
	}
}

// TestInterruptedAnywhere: at every request the tracking server fails, before it carries it out or behind
// that, or the process ends, and another one goes on. The run is what it is undisturbed, and there is one.
func TestInterruptedAnywhere(t *testing.T) {
	undisturbed := newFixture(t, newJob("bert"))
	calm := undisturbed.exporter()
	undisturbed.story("bert", func() { undisturbed.converge(calm) })
	want, requests := undisturbed.run().text(), undisturbed.mlflow.requests
	for n := 1; n <= requests; n++ {
		for _, way := range []string{"refused", "lost", "killed"} {
			t.Run(fmt.Sprintf("%s %d", way, n), func(t *testing.T) {
				f := newFixture(t, newJob("bert"))
				e := f.exporter()
				fail := func(_ string, i int) int {
					if i != n {
						return 0
					}
					return http.StatusBadGateway
				}
				switch way {
				case "refused":
					f.mlflow.before = fail
				default:
					f.mlflow.after = fail
				}
				f.story("bert", func() {
					err := f.pass(e)
					if err != nil && way == "killed" {
						f.clock.Step(2 * leaseTime)
						e = f.exporter()
					}
					f.converge(e)
				})
				if diff := cmp.Diff(want, f.run().text()); diff != "" || len(f.mlflow.runs) != 1 {
					t.Errorf("%d runs (-undisturbed +got):\n%s", len(f.mlflow.runs), diff)
				}
			})
		}
	}
}

// TestLateAnswers: a request to make a run is carried out long after its answer was given up, when another
// one has made a run. The second is deleted when the job has ended.
func TestLateAnswers(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e := f.exporter()
	f.story("bert", func() {
		f.converge(e)
		if len(f.mlflow.runs) == 1 {
			first := f.run()
			late := *first
			late.id = "ffffffffffffffffffffffffffffffff"
			f.mlflow.runs[late.id] = &late
		}
	})
	if got := f.run().id; got == "ffffffffffffffffffffffffffffffff" {
		t.Error("the wrong run was deleted")
	}
	if got := testutil.ToFloat64(e.metrics.refused.WithLabelValues(refusedRun)); got != 1 {
		t.Errorf("%v second runs are counted", got)
	}
}

// TestAway: while the tracking server is away everything is kept, and sent when it is back.
func TestAway(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e := f.exporter()
	away := true
	f.mlflow.before = func(string, int) int {
		if away {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	f.story("bert", func() {
		var err *awayError
		if got := f.pass(e); !errors.As(got, &err) {
			t.Errorf("want that it is away, got %v", got)
		}
		f.clock.Step(time.Second)
	})
	if got := testutil.ToFloat64(e.metrics.jobs.WithLabelValues()); got != 1 {
		t.Errorf("%v jobs are pending", got)
	}
	if got := testutil.ToFloat64(e.metrics.lag.WithLabelValues()); got < 5 {
		t.Errorf("the lag is %v s", got)
	}
	away = false
	f.converge(e)
	golden(t, "bert", f.run().text())
}

// TestTwoReplicas: both run, one sends; when it ends the other goes on at once. Even if the lease does not
// keep them apart each job has one run in the end.
func TestTwoReplicas(t *testing.T) {
	for reason, leases := range map[string]bool{"with leases": true, "without": false} {
		t.Run(reason, func(t *testing.T) {
			f := newFixture(t, newJob("job-0"))
			const jobs = 10
			for i := range jobs {
				f.story(fmt.Sprintf("job-%d", i), func() {})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var replicas sync.WaitGroup
			for range 2 {
				e := f.exporter(func(o *Options) {
					o.Clock = clock.RealClock{}
					if !leases {
						o.Store = always{o.Store}
					}
				})
				replicas.Go(func() {
					if err := e.Run(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			f.await(ctx, 0)
			cancel()
			replicas.Wait()
			if got := len(f.mlflow.active()); got != jobs || leases && len(f.mlflow.runs) != jobs {
				t.Errorf("%d runs, %d of which are deleted", len(f.mlflow.runs), len(f.mlflow.runs)-got)
			}
		})
	}
}

// TestRunsAtTheSameTime: two replicas have each made the run of a job, since neither saw the other's. The one
// that was kept first is the job's, and nothing is sent to the other, which goes.
func TestRunsAtTheSameTime(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	f.story("bert", func() {})
	first := f.exporter(func(o *Options) { o.Store = always{o.Store} })
	second := f.exporter(func(o *Options) { o.Store = always{o.Store} })
	var others atomic.Bool
	f.mlflow.before = func(call string, _ int) int {
		if call == "runs/create" && others.CompareAndSwap(false, true) {
			// The second has looked for a run and found none. Now the first does all of its work.
			f.mlflow.mu.Unlock()
			defer f.mlflow.mu.Lock()
			f.converge(first)
		}
		return 0
	}
	f.converge(second)
	kept, err := f.history.Run(t.Context(), history.Key{Cluster: clusterName, UID: "uid-of-bert"})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.mlflow.runs) != 2 {
		t.Errorf("%d runs were made: the story does not hold", len(f.mlflow.runs))
	}
	if got := f.mlflow.active(); len(got) != 1 || got[0].id != kept.RunID {
		t.Errorf("%d runs are left; %s was kept", len(got), kept.RunID)
	} else {
		golden(t, "bert", got[0].text())
	}
}

// always gives the lease to everybody.
type always struct{ Store }

func (always) AcquireLease(context.Context, string, string, time.Time, time.Time) (bool, error) {
	return true, nil
}

// TestLease: a replica that has died is followed when its lease has run out, and one that has ended at once.
func TestLease(t *testing.T) {
	f := newFixture(t)
	first, second := f.exporter(), f.exporter()
	if err := f.pass(first); err != nil {
		t.Fatal(err)
	}
	if err := f.pass(second); !errors.Is(err, errNotLeading) {
		t.Errorf("the second: %v", err)
	}
	f.clock.Step(leaseRenew)
	if err := f.pass(first); err != nil {
		t.Errorf("the first renews: %v", err)
	}
	f.clock.Step(leaseTime - time.Second)
	if err := f.pass(second); !errors.Is(err, errNotLeading) {
		t.Errorf("the lease has a second left: %v", err)
	}
	f.clock.Step(time.Second)
	if err := f.pass(second); err != nil {
		t.Errorf("the lease has run out: %v", err)
	}
	if err := f.pass(first); !errors.Is(err, errNotLeading) {
		t.Errorf("the first comes back: %v", err)
	}
	second.resign(t.Context())
	if err := f.pass(first); err != nil {
		t.Errorf("the second has ended: %v", err)
	}
}

// TestMetricsAreDescribed, and as Prometheus wants them.
func TestMetricsAreDescribed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	e := newFixture(t).exporter()
	if err := e.Register(registry); err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]string{}
	for _, d := range MetricDescriptions() {
		described[d.Name] = d.Help
	}
	for _, family := range families {
		if described[family.GetName()] != family.GetHelp() {
			t.Errorf("%s is not described", family.GetName())
		}
		delete(described, family.GetName())
	}
	for name := range described {
		if name != nameDelay && name != nameDuration { // they have nothing to show yet
			t.Errorf("%s is not registered", name)
		}
	}
}
