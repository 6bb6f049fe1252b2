//go:build cluster

package fasttrackml_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/fasttrackml"
)

// patience covers a build on a slow and busy machine.
const patience = 20 * time.Minute

const experiments = "/api/2.0/mlflow/experiments/"

func start(t *testing.T, ctx context.Context, o fasttrackml.Options) *fasttrackml.Server {
	t.Helper()
	o.Dir, o.Progress = t.TempDir(), t.Output()
	server, err := fasttrackml.Start(ctx, o)
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

func answer(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestServer checks that a killed server keeps its data when it is restarted at the same address.
func TestServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := start(t, ctx, fasttrackml.Options{})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+experiments+"create",
		strings.NewReader(`{"name": "team-a"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if code, body := answer(t, request); code != http.StatusOK {
		t.Fatal(code, body)
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
	request, err = http.NewRequestWithContext(ctx, http.MethodGet,
		server.URL+experiments+"get-by-name?experiment_name=team-a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := answer(t, request); code != http.StatusOK || !strings.Contains(body, "team-a") {
		t.Error(code, body)
	}
}

// TestAuthentication: who has no password is refused.
func TestAuthentication(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := start(t, ctx, fasttrackml.Options{Username: "trainer", Password: "hush"})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+experiments+"list", nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := answer(t, request); code != http.StatusUnauthorized {
		t.Error(code, body)
	}
	request.SetBasicAuth("trainer", "hush")
	if code, body := answer(t, request); code != http.StatusOK {
		t.Error(code, body)
	}
}
