//go:build cluster

package mlflow

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	labmlflow "mlplatform.example.com/trainingjob-operator/lab/mlflow"
)

// patience of a test, for a machine that is slow and busy, and installs MLflow first.
const patience = 20 * time.Minute

// real is a server of MLflow's current release. Ours has an account there that is not an administrator.
type real struct {
	*labmlflow.Server
	t *testing.T
	// account is the name of the server's user.
	account string
	config  Config
	client  *client
}

func startReal(t *testing.T) *real {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	server, err := labmlflow.Start(ctx, labmlflow.Options{Dir: t.TempDir(), Authentication: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	account, err := server.CreateUser(ctx, "trainingjob-server")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"username": account.Name, "password": account.Password} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{URL: server.URL, BasicAuthDir: dir, RequestsPerSecond: 1000}
	return &real{Server: server, t: t, account: account.Name, config: c, client: newTestClient(t, c)}
}

// use the real server.
func (r *real) use(o *Options) { o.Config = r.config }

// realRun is what the server says of a run.
type realRun struct {
	Info struct {
		ID         string `json:"run_id"`
		Name       string `json:"run_name"`
		Status     string `json:"status"`
		Start      int64  `json:"start_time"`
		End        int64  `json:"end_time"`
		Stage      string `json:"lifecycle_stage"`
		Experiment string `json:"experiment_id"`
	} `json:"info"`
	Data struct {
		Params, Tags []pair
		Metrics      []measurement
	} `json:"data"`
}

// runs of an experiment, also deleted ones.
func (r *real) runs(experiment string) []realRun {
	r.t.Helper()
	id, err := r.client.findExperiment(r.t.Context(), experiment)
	if err != nil {
		r.t.Fatal(err)
	}
	var found struct{ Runs []realRun }
	if err := r.client.post(r.t.Context(), callSearchRuns, map[string]any{
		"experiment_ids": []string{id}, "run_view_type": "ALL",
	}, &found); err != nil {
		r.t.Fatal(err)
	}
	return found.Runs
}

// text of a run as fakeRun has it, so that one golden file is for both servers.
func (r *real) text(run *realRun) string {
	r.t.Helper()
	as := fakeRun{
		name: run.Info.Name, status: run.Info.Status, start: run.Info.Start, end: run.Info.End,
		params: map[string]string{}, tags: map[string]string{}, metrics: map[measurement]bool{},
	}
	for _, p := range run.Data.Params {
		as.params[p.Key] = p.Value
	}
	for _, p := range run.Data.Tags {
		if p.Key != "mlflow.runName" { // it is the server's copy of the name
			as.tags[p.Key] = p.Value
		}
	}
	for _, latest := range run.Data.Metrics {
		var history struct{ Metrics []measurement }
		if err := r.client.get(r.t.Context(), "metrics/get-history", url.Values{
			"run_id": {run.Info.ID}, "metric_key": {latest.Key},
		}, &history); err != nil {
			r.t.Fatal(err)
		}
		for _, m := range history.Metrics {
			as.metrics[m] = true
		}
	}
	return as.text()
}

// TestRealServer: MLflow has of a job what the fake has, over two attempts, with one run.
func TestRealServer(t *testing.T) {
	server, f := startReal(t), newFixture(t, newJob("bert"))
	e := f.exporter(server.use)
	f.story("bert", func() { f.converge(e) })
	runs := server.runs("team-a")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	golden(t, "bert", server.text(&runs[0]))
	if got := f.annotation("bert"); got != runs[0].Info.ID {
		t.Errorf("the annotation names %q, the run is %s", got, runs[0].Info.ID)
	}
	found, err := server.client.runsOf(t.Context(), runs[0].Info.Experiment, "uid-of-bert")
	if diff := cmp.Diff([]string{runs[0].Info.ID}, found); diff != "" || err != nil {
		t.Errorf("found by its tag: %v (-want +got):\n%s", err, diff)
	}
}

// TestRealServerDies between any two versions of a job, and comes back. Nothing is lost, and there is one
// run.
func TestRealServerDies(t *testing.T) {
	server, f := startReal(t), newFixture(t, newJob("bert"))
	e := f.exporter(server.use)
	n := 0
	f.story("bert", func() {
		if n++; n%3 == 1 {
			if err := server.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			var away *awayError
			if err := f.pass(e); !errors.As(err, &away) {
				t.Errorf("want that it is away, got %v", err)
			}
		}
		if n%3 == 0 {
			if err := server.StartAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.clock.Step(2 * leaseTime)
			e = f.exporter(server.use) // the exporter has died too
		}
		if n%3 != 1 && n%3 != 2 {
			f.converge(e)
		}
	})
	if n%3 != 0 {
		if err := server.StartAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.converge(e)
	runs := server.runs("team-a")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	golden(t, "bert", server.text(&runs[0]))
}

// TestRealReplicas: two of them run while the tracking server is killed and started again, and each job has
// one run.
func TestRealReplicas(t *testing.T) {
	server, f := startReal(t), newFixture(t)
	const jobs = 20
	for i := range jobs {
		f.story(fmt.Sprintf("job-%d", i), func() {})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var replicas sync.WaitGroup
	for range 2 {
		e := f.exporter(server.use, func(o *Options) { o.Clock = clock.RealClock{} })
		replicas.Go(func() {
			if err := e.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	f.await(ctx, jobs/2)
	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.StartAgain(ctx); err != nil {
		t.Fatal(err)
	}
	f.await(ctx, 0)
	cancel()
	replicas.Wait()
	names := map[string]int{}
	for _, r := range server.runs("team-a") {
		if r.Info.Stage != stageDeleted {
			names[r.Info.Name]++
		}
		if r.Info.Status != statusFinished && r.Info.Stage != stageDeleted {
			t.Errorf("%s is %s", r.Info.Name, r.Info.Status)
		}
	}
	for name, n := range names {
		if n != 1 {
			t.Errorf("%s has %d runs", name, n)
		}
	}
	if len(names) != jobs {
		t.Errorf("%d jobs have runs", len(names))
	}
}

// TestRealOddities: names in any script are taken, what cannot be a name is refused before, and what a
// trainer has logged itself stays. A deleted run or experiment stays deleted.
func TestRealOddities(t *testing.T) {
	server, f := startReal(t), newFixture(t, newJob("bert"))
	e := f.exporter(server.use)
	named := func(name, experiment string) *v1alpha1.TrainingJob {
		return running(name, func(j *v1alpha1.TrainingJob) {
			j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: experiment}
		})
	}
	f.record(named("bert", "Größe/実験 1+1"))
	f.record(named("no-utf8", "caf\xe9"))
	f.record(named("control", "a\x1b[2J"))
	f.converge(e)
	runs := server.runs("Größe/実験 1+1")
	if len(runs) != 1 || runs[0].Info.Name != "bert" {
		t.Fatalf("%d runs", len(runs))
	}
	if _, err := server.client.findExperiment(t.Context(), "caf\uFFFD"); !hasCode(err, codeDoesNotExist) {
		t.Errorf("the mutilated name: %v", err)
	}
	id := runs[0].Info.ID
	if err := server.client.logBatch(t.Context(), id, []pair{{"trainers", "True"}}, nil, nil); err != nil {
		t.Fatal(err)
	}
	j := named("bert", "Größe/実験 1+1")
	j.Spec.Hyperparameters["trainers"] = "true"
	j.Spec.Hyperparameters["late"] = "1"
	report(j, 3, 5, map[string]string{"loss": "0.25", "grad@norm": "-inf"})
	f.record(j)
	f.converge(e)
	runs = server.runs("Größe/実験 1+1")
	for _, p := range []pair{{"trainers", "True"}, {"late", "1"}, {"lr", "0.001"}} {
		if !slices.Contains(runs[0].Data.Params, p) {
			t.Errorf("no parameter %v in %v", p, runs[0].Data.Params)
		}
	}
	if text := server.text(&runs[0]); !strings.Contains(text, "metric grad_norm") ||
		!strings.Contains(text, "= 0.25") {
		t.Errorf("the run is\n%s", text)
	}
	if err := server.client.deleteRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	report(j, 4, 6, map[string]string{"loss": "0.2"})
	f.record(j)
	f.converge(e)
	if runs := server.runs("Größe/実験 1+1"); len(runs) != 1 || runs[0].Info.Stage != stageDeleted {
		t.Errorf("a deleted run came back: %d runs", len(runs))
	}

	deleted := map[string]string{"experiment_id": runs[0].Info.Experiment}
	if err := server.Post(t.Context(), server.Admin, "2.0/mlflow/experiments/delete", deleted, nil); err != nil {
		t.Fatal(err)
	}
	_, err := server.client.experimentID(t.Context(), "Größe/実験 1+1")
	if !errors.Is(err, errExperimentDeleted) {
		t.Errorf("a deleted experiment: %v", err)
	}
}
