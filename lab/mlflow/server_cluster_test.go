//go:build cluster

package mlflow_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/mlflow"
)

// patience covers an installation on a slow and busy machine.
const patience = 10 * time.Minute

func start(t *testing.T, ctx context.Context, o mlflow.Options) *mlflow.Server {
	t.Helper()
	o.Dir = t.TempDir()
	server, err := mlflow.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return server
}

// TestServer checks that a killed server keeps its data when it is restarted at the same address, and that
// it has MLflow's pages.
func TestServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := start(t, ctx, mlflow.Options{})
	create := func() error {
		in := map[string]string{"name": "team-a"}
		return server.Post(ctx, mlflow.User{}, "2.0/mlflow/experiments/create", in, nil)
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if response, err := http.Get(server.URL); err == nil {
		response.Body.Close()
		t.Error("it answers after its end")
	}
	if err := server.StartAgain(ctx); err != nil {
		t.Fatal(err)
	}
	if err := create(); err == nil || !strings.Contains(err.Error(), "RESOURCE_ALREADY_EXISTS") {
		t.Errorf("the experiment is lost: %v", err)
	}
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(page), "<title>MLflow</title>") {
		t.Errorf("the page is %v\n%s", err, page)
	}
}

// TestAuthentication checks that a server with users rejects requests without credentials, and changes of
// what others created.
func TestAuthentication(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := start(t, ctx, mlflow.Options{Authentication: true})
	user, err := server.CreateUser(ctx, "trainer")
	if err != nil {
		t.Fatal(err)
	}
	search := func(as mlflow.User) error {
		return server.Post(ctx, as, "2.0/mlflow/experiments/search", map[string]any{"max_results": 1}, nil)
	}
	if err := search(mlflow.User{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without credentials: %v", err)
	}
	if err := search(user); err != nil {
		t.Error(err)
	}
	err = server.Post(ctx, user, "2.0/mlflow/experiments/delete", map[string]string{"experiment_id": "0"}, nil)
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("deleting the default experiment: %v", err)
	}
}
