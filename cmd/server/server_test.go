package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

func TestArguments(t *testing.T) {
	a, err := parseArguments([]string{"--config", "/a", "--version"})
	if err != nil || a.config != "/a" || !a.showVersion {
		t.Errorf("got %+v, %v", a, err)
	}
	_, err = parseArguments([]string{"--version", "more"})
	if err == nil || !strings.Contains(err.Error(), "more") {
		t.Errorf("an unknown argument: %v", err)
	}
}

// TestClusters: a cluster that is away is opened, and a context that does not exist is named.
func TestClusters(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	write(t, kubeconfig, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: east, context: {cluster: c, user: u}}, {name: west, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: west
`)
	cfg := config.Default()
	cfg.Clusters = []config.Cluster{
		{Name: "a", Kubeconfig: kubeconfig}, {Name: "b", Kubeconfig: kubeconfig, Context: "east"},
	}
	all, err := openClusters(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].name != "a" || all[1].name != "b" ||
		!strings.HasPrefix(all[0].rest.UserAgent, "server/") || all[0].rest.QPS >= 0 {
		t.Errorf("got %+v", all)
	}
	cfg.Clusters = []config.Cluster{{Name: "north", Kubeconfig: kubeconfig, Context: "north"}}
	if _, err := openClusters(cfg); err == nil || !strings.Contains(err.Error(), "cluster north") {
		t.Errorf("a context that does not exist: %v", err)
	}
}

// TestServe: certificates are followed, and a request that is under way ends before the server does.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	certificate := func(name string) *x509.CertPool {
		pair, key, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "tls.key"), string(key))
		write(t, filepath.Join(dir, "tls.crt"), string(pair))
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pair)
		return pool
	}
	first := certificate("first.example.com")
	address := free(t)
	p := newProcess(t)
	p.config.Listen = config.Listen{BindAddress: address, CertificateDir: dir}
	ctx, cancel := context.WithCancel(t.Context())
	stop := startAll(ctx, t, p.serveAPI)
	get := func(pool *x509.CertPool, name string) error {
		client := http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}, DisableKeepAlives: true,
		}}
		response, err := client.Get("https://" + address + "/version")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}
	if err := get(first, "first.example.com"); err != nil {
		t.Fatal(err)
	}
	second := certificate("second.example.com")
	eventually(t, "the new certificate is served", func() bool {
		return get(second, "second.example.com") == nil
	})
	cancel()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if get(second, "second.example.com") == nil {
		t.Error("it serves on")
	}
}

// TestEndOfRequests: one that is under way is answered, and a stream ends with the server.
func TestEndOfRequests(t *testing.T) {
	began := make(chan struct{})
	var once sync.Once
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(began) })
		<-r.Context().Done()
		_, _ = io.WriteString(w, "last words")
	})
	address := free(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop := startAll(ctx, t, func() ([]runnable, error) {
		r, err := serveAdmin("test", address, handler, nil)
		return []runnable{r}, err
	})
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + address)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answer <- fmt.Sprint(string(body), err)
	}()
	<-began
	cancel()
	if got := <-answer; got != "last words<nil>" {
		t.Errorf("answered %q", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestMissingCertificate names the key of the configuration.
func TestMissingCertificate(t *testing.T) {
	p := newProcess(t)
	p.config.Listen = config.Listen{BindAddress: free(t), CertificateDir: t.TempDir()}
	if _, err := p.serveAPI(); err == nil || !strings.Contains(err.Error(), "listen.certificateDir") {
		t.Errorf("got %v", err)
	}
	p.config.Listen, p.registry = config.Listen{BindAddress: "203.0.113.1:1"}, prometheus.NewRegistry()
	if _, err := p.serveAPI(); err == nil || !strings.Contains(err.Error(), "listen.bindAddress") {
		t.Errorf("got %v", err)
	}
}

// TestOff: what is turned off does not listen.
func TestOff(t *testing.T) {
	p := newProcess(t)
	p.config.Listen.BindAddress, p.config.Metrics.BindAddress = config.Off, config.Off
	p.config.Health.BindAddress = config.Off
	for name, serve := range map[string]func() ([]runnable, error){
		"the API": p.serveAPI, "probes": p.serveProbes, "metrics": p.serveMetrics,
	} {
		if r, err := serve(); len(r) > 0 || err != nil {
			t.Errorf("%s: %d servers, %v", name, len(r), err)
		}
	}
}

type fakePruner struct {
	mu      sync.Mutex
	left    int
	fails   int
	befores []time.Time
}

func (f *fakePruner) Prune(_ context.Context, before time.Time) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.befores = append(f.befores, before)
	if f.fails > 0 {
		f.fails--
		return 0, errors.New("connection refused")
	}
	n := min(f.left, 100)
	f.left -= n
	return n, nil
}

func (f *fakePruner) calls() (int, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.befores), f.left
}

// TestRetention: all that is over goes, in parts, again every hour, and sooner after a failure.
func TestRetention(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	fake, pruner := clocktesting.NewFakeClock(now), &fakePruner{left: 250, fails: 1}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	r := &retention{store: pruner, keep: 48 * time.Hour, clock: fake, log: logr.Discard()}
	go func() { ended <- r.run(ctx) }()
	step := func(d time.Duration, calls, left int) {
		t.Helper()
		eventually(t, "it waits", fake.HasWaiters)
		fake.Step(d)
		eventually(t, fmt.Sprintf("there were %d calls", calls), func() bool {
			n, l := pruner.calls()
			return n == calls && l == left
		})
	}
	step(pruneRetry, 1+4, 0)
	step(pruneEvery, 6, 0)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if want := now.Add(-48 * time.Hour); !pruner.befores[0].Equal(want) {
		t.Errorf("deleted before %v, want %v", pruner.befores[0], want)
	}
	forever := &retention{store: pruner, clock: clock.RealClock{}}
	if err := forever.run(t.Context()); err != nil {
		t.Error(err)
	}
	if n, _ := pruner.calls(); n != 6 {
		t.Error("what is kept for ever was deleted")
	}
}

type fakeDatabase struct{ err error }

func (d fakeDatabase) Ping(context.Context) error { return d.err }

// TestMetrics of the process pass promlint and are those that are documented.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&collector{store: fakeDatabase{errors.New("away")}})
	families, err := registry.Gather()
	if err != nil || len(families) != len(metricDescriptions()) {
		t.Fatal(families, err)
	}
	for _, f := range families {
		if f.GetName() == nameDatabase && f.GetMetric()[0].GetGauge().GetValue() != 0 {
			t.Error("the database is away")
		}
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

func TestVersion(t *testing.T) {
	handler, err := newProcess(t).routes()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/version", nil))
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"version":"dev"}` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// newProcess has callers, and one cluster that is away.
func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{config: config.Default(), log: logr.Discard(), registry: prometheus.NewRegistry()}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	write(t, kubeconfig, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
`)
	p.config.Clusters = []config.Cluster{{Name: "main", Kubeconfig: kubeconfig}}
	var err error
	if p.clusters, err = openClusters(p.config); err != nil {
		t.Fatal(err)
	}
	p.live, p.namespaces = p.newLive(), p.newNamespaces()
	dsn := "sqlite://" + filepath.Join(t.TempDir(), "history.db")
	if p.store, err = store.Open(t.Context(), store.Options{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if p.callers, err = p.newCallers(); err != nil {
		t.Fatal(err)
	}
	if p.placement, err = p.newPlacement(); err != nil {
		t.Fatal(err)
	}
	return p
}

// startAll that a process serves; stop returns when they have ended.
func startAll(ctx context.Context, t *testing.T, serve func() ([]runnable, error)) (stop func() error) {
	t.Helper()
	all, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, len(all))
	for _, r := range all {
		go func() { errs <- r(ctx) }()
	}
	return func() error {
		var err error
		for range all {
			err = errors.Join(err, <-errs)
		}
		return err
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRecordOf: pages say of a job what the recorder of its cluster records.
func TestRecordOf(t *testing.T) {
	p := newProcess(t)
	if _, err := p.newRecorder(p.clusters[0]); err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.TrainingJob{}
	job.UID, job.Annotations = "1", map[string]string{v1alpha1.AnnotationUser: "ada"}
	job.Status.GPUs = 8
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	j := p.recordOf("main", job).Job
	if j.User != "ada" || j.GPUKind != "nvidia.com/gpu" || j.Cluster != "main" {
		t.Errorf("got %+v", j)
	}
	if j := p.recordOf("other", job).Job; j.User != "ada" || j.GPUKind != "" {
		t.Errorf("of a cluster without a recorder: %+v", j)
	}
}
