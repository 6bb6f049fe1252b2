package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/operatormetrics"
)

// fakeManager keeps what is added to it.
type fakeManager struct {
	manager.Manager
	added []manager.Runnable
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}
func (m *fakeManager) GetConfig() *rest.Config     { return &rest.Config{Host: "https://127.0.0.1:1"} }
func (m *fakeManager) GetHTTPClient() *http.Client { return http.DefaultClient }
func (m *fakeManager) GetCache() cache.Cache       { return filledCache{} }
func (m *fakeManager) Elected() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

type filledCache struct{ cache.Cache }

func (filledCache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	jobs := into.(*v1alpha1.TrainingJobList)
	jobs.Items = make([]v1alpha1.TrainingJob, 1)
	jobs.Items[0].Namespace, jobs.Items[0].Name = "team-a", "bert"
	return nil
}

func (filledCache) WaitForCacheSync(context.Context) bool { return true }

// start runs what was added until the test ends, and returns the server's address.
func (m *fakeManager) start(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, len(m.added))
	var address string
	for _, r := range m.added {
		if s, ok := r.(*manager.Server); ok {
			address = s.Listener.Addr().String()
		}
		go func() { ended <- r.Start(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range m.added {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return address
}

func TestProbes(t *testing.T) {
	m := &fakeManager{}
	if err := addProbes(m, config.Health{BindAddress: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	address := m.start(t)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/readyz/caches": 200, "/x": 404} {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	expectShortHeaders(t, address)
}

// expectShortHeaders: a header that does not end is answered with 431 long before a megabyte.
func expectShortHeaders(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", 21<<10))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// TestMetricsHaveTheConfiguredCertificate, are served by HTTP/1.1 alone, and not to strangers.
func TestMetricsHaveTheConfiguredCertificate(t *testing.T) {
	dir := t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("metrics.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &fakeManager{}
	err = addMetrics(m, withMetrics("127.0.0.1:0", true, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	address := m.start(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	prometheus := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "metrics.example.com"},
		ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
	for _, path := range []string{"/metrics", "/metrics/jobs"} {
		resp, err := prometheus.Get("https://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.ProtoMajor != 1 {
			t.Errorf("%s: got %d by %s", path, resp.StatusCode, resp.Proto)
		}
	}
}

func withMetrics(address string, secure bool, dir string) config.OperatorConfiguration {
	c := config.Default()
	c.Metrics.BindAddress, c.Metrics.Secure, c.Metrics.CertificateDir = address, secure, dir
	return c
}

// TestSeriesOfJobsAreApart: names of jobs are at /metrics/jobs alone, and there only with a limit.
func TestSeriesOfJobsAreApart(t *testing.T) {
	const ofJob = `trainingjob_state{name="bert",namespace="team-a",state="Pending"} 1`
	ask := func(handlers map[string]http.Handler, path string) string {
		answer := httptest.NewRecorder()
		handlers[path].ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	c := withMetrics("127.0.0.1:0", false, "")
	end := func() time.Time { return time.Unix(1_800_000_000, 0) }
	handlers := metricsHandlers(&fakeManager{}, c, certificateEnds{operatormetrics.CertificateMetrics: end})
	if jobs := ask(handlers, "/metrics/jobs"); !strings.Contains(jobs, ofJob) ||
		strings.Contains(jobs, "trainingjob_operator_") {
		t.Errorf("/metrics/jobs:\n%s", jobs)
	}
	main := ask(handlers, "/metrics")
	for _, line := range []string{
		`trainingjob_jobs{namespace="team-a",state="Pending"} 1`, "trainingjob_operator_leading 1",
		`trainingjob_operator_certificate_expiry_timestamp_seconds{certificate="metrics"} 1.8e+09`,
	} {
		if !strings.Contains(main, line) {
			t.Errorf("%s is missing in:\n%s", line, main)
		}
	}
	if strings.Contains(main, "bert") {
		t.Error("/metrics names a job")
	}
	c.Metrics.Jobs.Limit = 0
	if metricsHandlers(&fakeManager{}, c, nil)["/metrics/jobs"] != nil {
		t.Error("a limit of 0 turns the series of jobs off")
	}
}

func TestEndOfCertificate(t *testing.T) {
	certificate, err := metricsCertificate(&fakeManager{}, "")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := certificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := endOf(certificate)(); got.IsZero() || !got.Equal(pair.Leaf.NotAfter) {
		t.Errorf("got %s", got)
	}
}

func TestServersThatCannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	m := &fakeManager{}
	for says, got := range map[string]error{
		"listening at health.bindAddress":  addProbes(m, config.Health{BindAddress: taken.Addr().String()}),
		"listening at metrics.bindAddress": addMetrics(m, withMetrics(taken.Addr().String(), false, ""), nil),
		"tls.crt and tls.key in metrics.certificateDir": addMetrics(m,
			withMetrics("127.0.0.1:0", true, t.TempDir()), nil),
	} {
		if got == nil || !strings.Contains(got.Error(), says) {
			t.Errorf("want %q, got %v", says, got)
		}
	}
	if err := addProbes(m, config.Health{BindAddress: config.Off}); err != nil || len(m.added) > 0 {
		t.Errorf("off: %v, %v", err, m.added)
	}
}
