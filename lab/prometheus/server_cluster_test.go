//go:build cluster

package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"mlplatform.example.com/trainingjob-operator/lab/prometheus"
)

// patience of every wait, for a machine that is slow and busy.
const patience = 2 * time.Minute

const rules = `
groups:
  - name: test
    rules:
      - {alert: TooHot, expr: temperature > 30, for: 1s}
`

// config of a Prometheus that scrapes one target and evaluates the file of rules.
func config(target string) []byte {
	return fmt.Appendf(nil, `
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [rules.yaml]
scrape_configs: [{job_name: thermometer, static_configs: [{targets: [%q]}]}]
`, strings.TrimPrefix(target, "http://"))
}

// start a Prometheus that is stopped when the test ends.
func start(t *testing.T, ctx context.Context, target string) *prometheus.Server {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := prometheus.Start(ctx, prometheus.Options{Dir: dir, Config: config(target)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		if response, err := http.Get(server.URL); err == nil {
			response.Body.Close()
			t.Error("it answers after its end")
		}
	})
	return server
}

// some is content with any sample.
func some(v model.Vector) string {
	if len(v) == 0 {
		return "no sample"
	}
	return ""
}

// TestServer scrapes, answers, and tells of an alert that fires and stops.
func TestServer(t *testing.T) {
	t.Parallel()
	var temperature atomic.Int64
	temperature.Store(40)
	thermometer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "temperature %d\n", temperature.Load())
	}))
	t.Cleanup(thermometer.Close) // after the Prometheus, whose scrapes it waits for
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server := start(t, ctx, thermometer.URL)
	if err := server.WaitForTargets(ctx, 1); err != nil {
		t.Fatal(err)
	}
	samples, err := server.Query(ctx, `temperature`)
	if err != nil || len(samples) != 1 || samples[0].Value != 40 || samples[0].Metric["job"] != "thermometer" {
		t.Fatalf("got %v, %v", samples, err)
	}
	if samples, err := server.Query(ctx, `1 + 1`); err != nil || len(samples) != 1 || samples[0].Value != 2 {
		t.Errorf("a scalar is %v, %v", samples, err)
	}
	if _, err := server.Query(ctx, `temperature[1m]`); err == nil {
		t.Error("a range is taken for an instant vector")
	}
	alert, err := server.WaitForAlert(ctx, "TooHot", prometheus.Firing)
	if err != nil || len(alert.Alerts) != 1 || alert.Alerts[0].Value != "4e+01" {
		t.Fatalf("got %+v, %v", alert, err)
	}
	temperature.Store(20)
	if _, err := server.WaitForAlert(ctx, "TooHot", prometheus.Inactive); err != nil {
		t.Fatal(err)
	}
	samples, err = server.WaitForSamples(ctx, `temperature < 30`, some)
	if err != nil || samples[0].Value != 20 {
		t.Errorf("got %v, %v", samples, err)
	}
}

// TestWaitsEnd with what was seen last, and at once where waiting is of no use.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	server := start(t, ctx, missing.URL)
	if _, err := server.WaitForSamples(ctx, `up == 0`, some); err != nil {
		t.Fatal(err)
	}
	for reason, c := range map[string]struct {
		within time.Duration
		wait   func(context.Context) error
		want   string
	}{
		"a target that answers 404": {time.Second, func(ctx context.Context) error {
			return server.WaitForTargets(ctx, 1)
		}, "404 Not Found"},
		"a target that is not configured": {time.Second, func(ctx context.Context) error {
			return server.WaitForTargets(ctx, 2)
		}, "last: 1 targets"},
		"an alert that stays away": {time.Second, func(ctx context.Context) error {
			_, err := server.WaitForAlert(ctx, "TooHot", prometheus.Firing)
			return err
		}, "it is inactive"},
		"an alert that no rule has": {patience, func(ctx context.Context) error {
			_, err := server.WaitForAlert(ctx, "TooCold", prometheus.Inactive)
			return err
		}, "no rule has the alert TooCold"},
		"an expression that is none": {patience, func(ctx context.Context) error {
			_, err := server.WaitForSamples(ctx, `sum by (`, some)
			return err
		}, "parse error"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(ctx, c.within)
			defer cancel()
			err := c.wait(ctx)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if c.within == patience && ctx.Err() != nil {
				t.Error("it waited until the end")
			}
		})
	}
}

// TestStartFails at once, and says why.
func TestStartFails(t *testing.T) {
	for reason, c := range map[string]struct {
		options prometheus.Options
		want    string
	}{
		"no such binary": {
			prometheus.Options{Dir: t.TempDir(), Path: filepath.Join(t.TempDir(), "none")}, "starting prometheus",
		},
		"a configuration with a key that there is not": {
			prometheus.Options{Dir: t.TempDir(), Config: []byte("scrapes: []")}, "field scrapes not found",
		},
		"no folder": {prometheus.Options{Dir: filepath.Join(t.TempDir(), "none")}, "writing"},
	} {
		server, err := prometheus.Start(t.Context(), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v", reason, server, err)
		}
	}
}
