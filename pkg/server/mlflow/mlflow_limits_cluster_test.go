//go:build cluster

package mlflow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestRealLimits checks the limits that the exporter keeps against those of MLflow's release. A host that
// MLflow does not expect concerns all jobs.
func TestRealLimits(t *testing.T) {
	server := startReal(t)
	experiment, err := server.client.experimentID(t.Context(), "team-a")
	if err != nil {
		t.Fatal(err)
	}
	id, err := server.client.createRun(t.Context(), experiment, &description{name: "bert", start: noon})
	if err != nil {
		t.Fatal(err)
	}
	key := func(i int) string { return fmt.Sprintf("%0*d", maxKey, i) }
	parameters := func(n int) (all []pair) {
		for i := range n {
			all = append(all, pair{key(i), strings.Repeat("p", maxParameter)})
		}
		return all
	}
	metrics := func(n int) (all []measurement) {
		for i := range n {
			all = append(all, measurement{Key: key(i), Value: 1.0, Timestamp: noon.UnixMilli()})
		}
		return all
	}
	tag := pair{key(0), strings.Repeat("é", maxTag)}
	for name, tc := range map[string]struct {
		params, tags []pair
		metrics      []measurement
		refused      bool
	}{
		"parameters":          {params: parameters(maxParameters)},
		"too many parameters": {params: parameters(maxParameters + 1), refused: true},
		"a tag":               {tags: []pair{tag}},
		"metrics":             {metrics: metrics(maxMetrics)},
		"too many metrics":    {metrics: metrics(maxMetrics + 1), refused: true},
		"a long key":          {params: []pair{{"k" + key(0), "1"}}, refused: true},
	} {
		err := server.client.logBatch(t.Context(), id, tc.params, tc.tags, tc.metrics)
		if isRefused(err) != tc.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	runs := server.runs("team-a")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	data := runs[0].Data
	cut := func(p pair) bool { return len(p.Value) != maxParameter }
	if len(data.Params) != maxParameters || slices.ContainsFunc(data.Params, cut) ||
		len(data.Metrics) != maxMetrics || !slices.Contains(data.Tags, tag) {
		t.Errorf("%d parameters, %d metrics, tags %v", len(data.Params), len(data.Metrics), data.Tags)
	}

	_, err = server.elsewhere().findExperiment(t.Context(), "team-a")
	if away := (*awayError)(nil); !errors.As(err, &away) || !strings.Contains(err.Error(), "--allowed-hosts") {
		t.Errorf("a host that MLflow does not expect: %v", err)
	}
}

// elsewhere returns a client that reaches the server by another name.
func (r *real) elsewhere() *client {
	r.t.Helper()
	c := r.config
	c.URL = "http://mlflow.mlflow.svc:5000"
	made := newTestClient(r.t, c)
	made.http.Transport.(*http.Transport).DialContext = func(
		ctx context.Context, network, _ string,
	) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(r.URL, "http://"))
	}
	return made
}

// grant a user a permission for an experiment, as the administrator.
func (r *real) grant(user, experiment, permission string) {
	r.t.Helper()
	id, err := r.client.findExperiment(r.t.Context(), experiment)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.Post(r.t.Context(), r.Admin, "3.0/mlflow/users/permissions/grant", map[string]string{
		"username": user, "resource_type": "experiment", "resource_id": id, "permission": permission,
	}, nil); err != nil {
		r.t.Fatal(err)
	}
}

// TestRealRights: a job whose experiment belongs to another user waits until the server may write there, and
// no other job waits. A trainer needs a right in the experiments that the server created.
func TestRealRights(t *testing.T) {
	server, f := startReal(t), newFixture(t, newJob("bert"), newJob("other"))
	create := map[string]string{"name": "team-a"}
	if err := server.Post(t.Context(), server.Admin, "2.0/mlflow/experiments/create", create, nil); err != nil {
		t.Fatal(err)
	}
	e := f.exporter(server.use)
	f.record(running("bert"))
	f.record(running("other", func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: "another"}
	}))
	if err := f.pass(e); err != nil {
		t.Errorf("one job's experiment stops all: %v", err)
	}
	if n, m := len(server.runs("another")), len(server.runs("team-a")); n != 1 || m != 0 {
		t.Errorf("%d runs of the job with rights, %d of the one without", n, m)
	}
	server.grant(server.account, "team-a", "MANAGE")
	f.converge(e)
	if runs := server.runs("team-a"); len(runs) != 1 || len(runs[0].Data.Params) != 3 {
		t.Errorf("with the right there are the runs %v", runs)
	}

	trainer, err := server.CreateUser(t.Context(), "trainer")
	if err != nil {
		t.Fatal(err)
	}
	log := func() error {
		return server.Post(t.Context(), trainer, "2.0/mlflow/runs/log-batch", map[string]any{
			"run_id": server.runs("another")[0].Info.ID, "params": []pair{{"seed", "1"}},
		}, nil)
	}
	if err := log(); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a trainer without a right: %v", err)
	}
	server.grant(trainer.Name, "another", "EDIT")
	if err := log(); err != nil {
		t.Errorf("a trainer with the right that the documentation names: %v", err)
	}
}
