package reportserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var (
	_ manager.Runnable               = (*Server)(nil)
	_ manager.LeaderElectionRunnable = (*Server)(nil)
)

// served runs the server behind TLS until the test ends, or stop is called.
func (e *environment) served() (address string, stop func() error) {
	e.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.server.serve(ctx, l) }()
	var once error
	stopped := false
	stop = func() error {
		if cancel(); !stopped {
			once, stopped = <-ended, true
		}
		return once
	}
	e.t.Cleanup(func() {
		if err := stop(); err != nil {
			e.t.Error(err)
		}
	})
	return l.Addr().String(), stop
}

// agent is a client with the CA that its pod was given, as in pkg/agent. Each of its reports opens a
// connection.
func agent(address string, ca []byte, config *tls.Config) *http.Client {
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
		TLSClientConfig: config, DisableKeepAlives: true,
	}}
}

func (e *environment) report(c *http.Client, body string) (int, string) {
	return e.reportAs(c, "bert-worker-0", body)
}
func (e *environment) reportAs(c *http.Client, token, body string) (int, string) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, e.server.URL(),
		strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	return resp.StatusCode, text(resp.Body)
}

// TestCertificatesRotateWithOverlap: the CA is replaced while the server runs. An agent that started
// while ca.crt held both CAs reports throughout. One that started before does not trust the new
// certificate, which is why the overlap is needed.
func TestCertificatesRotateWithOverlap(t *testing.T) {
	e := newEnvironment(t)
	e.server.handler.pods = newRateLimits(rate.Inf, 0, 1) // the server's clock stands still
	address, _ := e.served()
	before, next := e.server.CA(), newAuthority(t, "ca-2")
	old := agent(address, before, &tls.Config{})
	if code, says := e.report(old, training); code != 200 {
		t.Fatalf("got %d %s", code, says)
	}
	if code, says := e.report(agent(address, next.pem(), &tls.Config{}), training); code != 0 ||
		!strings.Contains(says, "unknown authority") {
		t.Fatalf("an agent that trusts another CA: %d %s", code, says)
	}

	replace(t, e.dir, map[string][]byte{
		fileCertificate: fileOf(t, e.dir, fileCertificate), fileKey: fileOf(t, e.dir, fileKey),
		fileCA: bundle(e.ca, next),
	})
	during := e.server.CA()
	if !bytes.Equal(during, bundle(e.ca, next)) {
		t.Fatalf("agents are given %s", during)
	}
	overlapping := agent(address, during, &tls.Config{})
	if code, says := e.report(overlapping, training); code != 200 {
		t.Errorf("got %d %s", code, says)
	}

	next.serve(t, e.dir, e.ca, next)
	eventually(t, "the server shows the new CA's certificate", func() bool {
		code, says := e.report(old, training)
		return code == 0 && strings.Contains(says, "unknown authority")
	})
	if code, says := e.report(overlapping, training); code != 200 {
		t.Errorf("an agent that trusts both: %d %s", code, says)
	}

	next.serve(t, e.dir, next)
	if got := e.server.CA(); !bytes.Equal(got, next.pem()) {
		t.Errorf("agents are given %s", got)
	}
	if code, says := e.report(overlapping, training); code != 200 {
		t.Errorf("an agent that trusts both: %d %s", code, says)
	}
}

func fileOf(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNoOldTLS(t *testing.T) {
	e := newEnvironment(t)
	address, _ := e.served()
	if code, says := e.report(agent(address, e.server.CA(), &tls.Config{MaxVersion: tls.VersionTLS12}),
		training); code != 200 {
		t.Fatalf("TLS 1.2: %d %s", code, says)
	}
	if code, says := e.report(agent(address, e.server.CA(), &tls.Config{MinVersion: tls.VersionTLS10,
		MaxVersion: tls.VersionTLS11}), training); code != 0 {
		t.Errorf("TLS 1.1: %d %s", code, says)
	}
}

// TestShutdownAnswersWaitingReports: this replica will not write their commits any more.
func TestShutdownAnswersWaitingReports(t *testing.T) {
	e := newEnvironment(t)
	address, stop := e.served()
	type answer struct {
		code int
		says string
	}
	done := make(chan answer, 1)
	go func() {
		code, says := e.report(agent(address, e.server.CA(), &tls.Config{}), saved)
		done <- answer{code, says}
	}()
	e.awaitWaiter()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if a := <-done; a.code != 503 || !strings.Contains(a.says, "report again") {
		t.Errorf("got %+v", a)
	}
}

// TestManyAgentsShareTheConnections: one is kept for the agent's next report while the bound allows it, and
// only once it is known whose it is.
func TestManyAgentsShareTheConnections(t *testing.T) {
	defer func(before boundedlistener.Bounds) { connections = before }(connections)
	connections.Known = 1
	e := newEnvironment(t)
	e.server.handler.pods = newRateLimits(rate.Inf, 0, 1)
	address, _ := e.served()
	kept := func() *http.Client {
		c := agent(address, e.server.CA(), &tls.Config{})
		c.Transport.(*http.Transport).DisableKeepAlives = false
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	closes := func(c *http.Client, token string) (int, bool) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.server.URL(),
			strings.NewReader(training))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_ = text(resp.Body) // a connection with an answer that was not read is not used again
		return resp.StatusCode, resp.Close
	}
	other := newJob("other", "uid-other", 2)
	e.cache.put(other)
	e.add(other, 0)
	first, second := kept(), kept()
	for _, tc := range []struct {
		reason string
		agent  *http.Client
		token  string
		code   int
		closed bool
	}{
		{"a stranger", second, "forged", 401, true},
		{"a rank that may not report", second, "bert-worker-1", 403, true},
		{"the first to be known", first, "bert-worker-0", 200, false},
		{"again, on the same connection", first, "bert-worker-0", 200, false},
		{"no connection for a second", second, "other-worker-0", 200, true},
		{"known no more", first, "forged", 401, true},
	} {
		if code, closed := closes(tc.agent, tc.token); code != tc.code || closed != tc.closed {
			t.Errorf("%s: got %d, closed %v", tc.reason, code, closed)
		}
	}
	eventually(t, "the first has left its place", func() bool {
		code, closed := closes(second, "other-worker-0")
		return code == 200 && !closed
	})
}

func TestAddressThatIsTaken(t *testing.T) {
	e := newEnvironment(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e.server.BindAddress = l.Addr().String()
	if err := e.server.Start(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "listening for reports") {
		t.Errorf("got %v", err)
	}
}

// TestTimeouts cut off slow handshakes, headers and bodies, but not the wait for a write.
func TestTimeouts(t *testing.T) {
	const agentsPatience = 10 * time.Second // pkg/agent: postTimeout
	e := newEnvironment(t)
	s := e.server.httpServer(t.Context(), nil)
	switch {
	case s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0:
		t.Errorf("a timeout is missing: %+v", s)
	case s.ReadHeaderTimeout > agentsPatience || s.ReadTimeout > agentsPatience:
		t.Error("slower than an agent may be")
	case s.WriteTimeout < s.ReadTimeout+reviewTimeout+commitWait:
		t.Error("an answer would be cut off while it waits for a write")
	case commitWait >= agentsPatience:
		t.Error("the agent would give up before it hears that its commit is not written")
	case s.MaxHeaderBytes > 64<<10 || s.MaxHeaderBytes <= maxTokenBytes:
		t.Errorf("headers have %d bytes", s.MaxHeaderBytes)
	case s.Protocols.HTTP2() || s.Protocols.UnencryptedHTTP2():
		t.Error("one connection could carry any number of reports")
	case s.TLSConfig.MinVersion < tls.VersionTLS12:
		t.Error("TLS is too old")
	}
}

func TestURL(t *testing.T) {
	e := newEnvironment(t)
	for _, u := range []string{"https://reports.example.com:9443", "https://reports.example.com:9443/"} {
		e.server.Options.URL = u
		if got := e.server.URL(); got != "https://reports.example.com:9443/v1/reports" {
			t.Errorf("agents post to %s", got)
		}
	}
	if e.server.NeedLeaderElection() {
		t.Error("a replica that does not lead could not say so")
	}
}

// TestBadCertificates: an error names the file and the key of the configuration.
func TestBadCertificates(t *testing.T) {
	ca := newAuthority(t, "ca")
	der, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	tests := map[string]struct {
		file string
		data []byte
		says string
	}{
		"no CA":           {fileCA, nil, "ca.crt in reports.certificateDir"},
		"an empty CA":     {fileCA, []byte{}, "has no certificate in PEM"},
		"a key in the CA": {fileCA, append(ca.pem(), key...), "contains a PRIVATE KEY: keep only"},
		"a broken CA": {fileCA, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
			"ca.crt: x509"},
		"a huge CA":         {fileCA, bytes.Repeat([]byte("#"), maxCABytes+1), "has more than"},
		"no certificate":    {fileCertificate, nil, "tls.crt and tls.key in reports.certificateDir"},
		"no key":            {fileKey, nil, "tls.crt and tls.key in reports.certificateDir"},
		"another one's key": {fileKey, key, "does not match"},
		"no PEM":            {fileCertificate, []byte("no"), "tls.crt and tls.key in reports.certificateDir"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ca.serve(t, dir, ca)
			if _, err := loadCertificates(dir, host, logr.Discard()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, tc.file)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if tc.data != nil {
				if err := os.WriteFile(path, tc.data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := loadCertificates(dir, host, logr.Discard()); err == nil ||
				!strings.Contains(err.Error(), tc.says) {
				t.Errorf("want an error with %q, got %v", tc.says, err)
			}
		})
	}
}

// TestUnreadableCA: while the server runs, pods are still given the last good CA.
func TestUnreadableCA(t *testing.T) {
	e := newEnvironment(t)
	good := e.server.CA()
	if err := os.Remove(filepath.Join(e.dir, fileCA)); err != nil {
		t.Fatal(err)
	}
	if got := e.server.CA(); !bytes.Equal(got, good) || len(got) == 0 {
		t.Errorf("got %s", got)
	}
}

// TestUntrustedCertificate: the server notices a certificate that agents will not trust.
func TestUntrustedCertificate(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	for name, tc := range map[string]struct {
		host    string
		trusted *authority
		says    string
	}{
		"fits":         {host, ca, ""},
		"another name": {"reports.example.com", ca, "not reports.example.com"},
		"another CA":   {host, other, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ca.serve(t, dir, tc.trusted)
			c, err := loadCertificates(dir, tc.host, logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.LoadX509KeyPair(filepath.Join(dir, fileCertificate), filepath.Join(dir, fileKey))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.verify(pair); (err == nil) != (tc.says == "") || err != nil &&
				!strings.Contains(err.Error(), tc.says) {
				t.Errorf("want %q, got %v", tc.says, err)
			}
		})
	}
}

// TestRanksAskForTheirResumePoint: under restart scope Rank every rank may ask, and nothing that it sends is
// kept.
func TestRanksAskForTheirResumePoint(t *testing.T) {
	e := newEnvironment(t)
	r := post(`{"attempt":2,"phase":"Starting"}`)
	r.token, r.header = "bert-worker-1", http.Header{checkpoint.HeaderResume: {"1"}}
	e.expect(r, http.StatusForbidden, "is not the reporting rank")

	change(e, "bert", func(job *v1alpha1.TrainingJob) {
		job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		job.Status.Checkpoint = nil
	})
	e.clock.Step(time.Minute)
	e.expect(r, http.StatusOK, `"resumeFrom":""`)
	base, err := spec.CheckpointURI(e.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob))
	if err != nil {
		t.Fatal(err)
	}
	change(e, "bert", func(job *v1alpha1.TrainingJob) {
		job.Status.Checkpoint = &v1alpha1.CheckpointStatus{
			ResumeFrom: &v1alpha1.CheckpointPoint{URI: base.String() + "/attempt-1/step-100", Step: 100},
			Latest:     &v1alpha1.CheckpointPoint{URI: base.String() + "/attempt-2/step-900", Step: 900},
		}
	})
	for _, rank := range []string{"bert-worker-0", "bert-worker-1"} {
		e.clock.Step(time.Minute)
		r.token = rank
		e.expect(r, http.StatusOK, `attempt-2/step-900"`)
	}
	if _, known := e.store.Latest("uid-bert"); known {
		t.Error("the question is kept as a report")
	}

	e.clock.Step(time.Minute)
	r.token, r.header = "bert-worker-1", nil
	e.expect(r, http.StatusForbidden, "is not the reporting rank")
}

// TestSettingsReachWhoKnowsThem: an agent of a former operator, which runs on beside a newer operator,
// refuses an answer with fields that it does not know.
func TestSettingsReachWhoKnowsThem(t *testing.T) {
	e := newEnvironment(t)
	change(e, "bert", func(job *v1alpha1.TrainingJob) {
		job.Spec.Checkpoint.Interval, job.Spec.Checkpoint.KeepLast = new(int32(60)), new(int32(9))
	})
	r := post(`{"attempt":2,"phase":"Training","step":1}`)
	if got := e.do(r).Body.String(); strings.Contains(got, "settings") || strings.Contains(got, "retainLast") {
		t.Errorf("a former agent gets %s", got)
	}
	e.clock.Step(time.Minute)
	r.header = http.Header{checkpoint.HeaderSettings: {"1"}}
	e.expect(r, http.StatusOK, `"settings":{"intervalSeconds":60,"keepLast":9},"retainLast":9`)
}
