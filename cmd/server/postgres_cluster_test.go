//go:build cluster

package main

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/postgres"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestTwoServers: they share a PostgreSQL, as in deploy/server-postgres, and are killed in turns while 200
// jobs live their lives. Nothing is missing, nothing is there twice, and deleted jobs go once they are
// recorded.
func TestTwoServers(t *testing.T) {
	db, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	dsn, err := db.Create(t.Context(), "history")
	if err != nil {
		t.Fatal(err)
	}
	c, err := harness.Start(t.Context(), harness.Options{Root: "../.."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	const on = "finalizer: {enabled: true}\n"
	kubeconfig, binary := install(t, c), harness.Program(t, "server")
	servers := []*server{newServer(t, "one", binary, kubeconfig), newServer(t, "the other", binary, kubeconfig)}
	for _, s := range servers { // at the same time, both of which make the tables
		s.dsn = dsn
		s.start(t, on)
	}
	for _, s := range servers {
		s.ready(t)
	}
	w := &cluster200{Cluster: c}
	w.play(t, func(n int) {
		s := servers[n%2]
		s.kill(t)
		s.start(t, on)
	})
	history := servers[0].open(t)
	w.finalizers(t, "all have it", func(n int) bool { return n == jobs })
	for _, j := range w.all {
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
			t.Fatal(err)
		}
		servers[0].has(t, history, keyOf(j), latest(j))
		if r := w.record(t, history, j); len(r.Transitions) != len(life) || len(r.Attempts) != 2 {
			t.Errorf("%s: %d transitions in %d attempts", j.Name, len(r.Transitions), len(r.Attempts))
		}
	}
	w.delete(t, w.all[:20])
	for _, j := range w.all[:20] {
		harness.Until(t, j.Name+" is gone", func(ctx context.Context) (string, error) {
			err := c.Client.Get(ctx, client.ObjectKeyFromObject(j), &v1alpha1.TrainingJob{})
			return iff(apierrors.IsNotFound(err), "it is there"), client.IgnoreNotFound(err)
		})
		if r := w.record(t, history, j); r.Job.Deleted == nil || r.Job.DeletedBefore != nil {
			t.Errorf("%s: deleted at %v, before %v", j.Name, r.Job.Deleted, r.Job.DeletedBefore)
		}
	}
	for _, s := range servers {
		s.stop(t)
		if bad := s.complaints(); len(bad) > 0 {
			t.Errorf("%s:\n%s", s.name, joined(bad))
		}
	}
}
