package reportserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// attackedVariable makes the test binary the server that is attacked.
	attackedVariable = "REPORTSERVER_ATTACKED"
	// memoryLimit of the operator's container in deploy/operator/deployment.yaml. The operator's caches need
	// the rest of what the server leaves.
	memoryLimit = 512 << 20
	// serverShare of it is what the server may take, so that the caches of 1,000 jobs (under 200 MB) fit
	// beside.
	serverShare = memoryLimit / 4
	// honestAgents report while an attack is under way, each from an address of its own.
	honestAgents = 20
	// agentsPatience is how long an agent waits for an answer (reportclient.PostTimeout).
	agentsPatience = 10 * time.Second
)

// attackFull plays the attacks with all their connections, for `make bench-attack`.
var attackFull = flag.Bool("attack.full", false, "attack with thousands of connections")

// TestUnderAttack runs the server in a process of its own with the memory limit of the deployment, and
// measures its peak (VmHWM) and what becomes of honest reports. `make bench-attack` plays the long form: only
// that one would show a server without bounds.
func TestUnderAttack(t *testing.T) {
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			reports := 4
			if !*attackFull {
				a.connections, reports = max(1, a.connections/10), 2
			}
			s := startAttacked(t)
			before := s.peak(t)
			ctx, stop := context.WithCancel(t.Context())
			attacker := &attacker{attack: a, server: s, underWay: make(chan struct{}),
				pace: rate.NewLimiter(1000, 1000)}
			ended := attacker.start(ctx)
			<-attacker.underWay
			taken, total, why := s.reportHonestly(t, reports)
			stop()
			<-ended
			peak := s.peak(t)
			t.Logf("%d of %d honest reports taken; peak memory %d MiB, %d MiB before; %d connections of the "+
				"attack, %d token reviews", taken, total, peak>>20, before>>20, attacker.opened.Load(), s.reviews(t))
			if taken*100 < total*99 {
				t.Errorf("only %d of %d honest reports were taken: %v", taken, total, why)
			}
			if peak > serverShare {
				t.Errorf("the server took %d MiB, it may take %d MiB", peak>>20, serverShare>>20)
			}
		})
	}
}

// attacked is a server in a process of its own.
type attacked struct {
	address string
	roots   *x509.CertPool
	pid     int
	ask     func(string) string
}

func startAttacked(t *testing.T) *attacked {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAttackedProcess$", "-test.timeout=10m")
	// It is killed at the end and cleans up nothing: its files are ours.
	c.Env = append(os.Environ(), attackedVariable+"=1", "TMPDIR="+t.TempDir())
	c.Stderr = t.Output()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	})
	lines := bufio.NewReader(out)
	read := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server's process has ended: %v", err)
		}
		return strings.TrimSpace(line)
	}
	address, ca := read(), read()
	pem, err := strconv.Unquote(ca)
	if err != nil {
		t.Fatal(err)
	}
	s := &attacked{address: address, roots: x509.NewCertPool(), pid: c.Process.Pid}
	s.roots.AppendCertsFromPEM([]byte(pem))
	s.ask = func(what string) string {
		if _, err := fmt.Fprintln(in, what); err != nil {
			t.Fatal(err)
		}
		return read()
	}
	return s
}

// peak is the most memory that the process has had so far, in bytes (VmHWM of proc(5)).
func (s *attacked) peak(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// reviews is how many TokenReviews the server has asked for.
func (s *attacked) reviews(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(s.ask("reviews"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// client connects from an address of the machine. keep: it keeps its connection for the next report.
func (s *attacked) client(from string, keep bool) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return &http.Client{Timeout: agentsPatience, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", s.address)
		},
		TLSClientConfig: &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: !keep,
	}}
}

// reportHonestly lets each honest agent report so many times. Every second agent keeps its connection. None
// repeats a report that failed.
func (s *attacked) reportHonestly(t *testing.T, times int) (taken, total int, why map[string]int) {
	var mu sync.Mutex
	var agents sync.WaitGroup
	why = map[string]int{}
	for i := range honestAgents {
		agents.Go(func() {
			c := s.client(fmt.Sprintf("127.77.0.%d", i+1), i%2 == 0)
			defer c.CloseIdleConnections()
			for n := range times {
				reported := s.post(t.Context(), c, fmt.Sprintf("job-%d-worker-0", i),
					fmt.Sprintf(`{"attempt":2,"phase":"Training","step":%d}`, n))
				mu.Lock()
				total++
				if reported == "" {
					taken++
				} else {
					why[reported]++
				}
				mu.Unlock()
			}
		})
	}
	agents.Wait()
	return taken, total, why
}

// post a report, and return what went wrong.
func (s *attacked) post(ctx context.Context, c *http.Client, token, body string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+Path,
		strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	reported := text(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return strconv.Itoa(resp.StatusCode) + " " + reported
	}
	return ""
}

// TestAttackedProcess is the process that TestUnderAttack starts: a server with 1,000 jobs behind it, which
// answers on its standard output until its standard input ends.
func TestAttackedProcess(t *testing.T) {
	if os.Getenv(attackedVariable) == "" {
		return // it is no test by itself
	}
	debug.SetMemoryLimit(memoryLimit * 9 / 10)
	e := &environment{
		t: t, dir: t.TempDir(), ca: newAuthority(t, "ca"), elected: make(chan struct{}),
		cache:   &fakeCache{objects: map[string]client.Object{}, informer: &controllertest.FakeInformer{}},
		reviews: &fakeTokenReviews{tokens: map[string]authenticationv1.TokenReviewStatus{}},
	}
	close(e.elected)
	e.ca.serve(t, e.dir, e.ca)
	var err error
	if e.server, err = New(Options{
		URL: "https://" + host, CertificateDir: e.dir, Audience: audience, Elected: e.elected, Cache: e.cache,
		Reviews: e.reviews, Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(), Log: logr.Discard(),
	}); err != nil {
		t.Fatal(err)
	}
	e.server.handler.pods = newRateLimits(1e6, 1e6, maxPods) // the honest agents are in a hurry
	if err := e.server.Store.Start(t.Context(), newQueue()); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		name := fmt.Sprintf("job-%d", i)
		job := newJob(name, types.UID("uid-"+name), 2)
		if _, err := spec.CheckpointURI(job); err != nil {
			t.Fatal(err)
		}
		e.cache.put(job)
		e.add(job, 0)
	}
	address, _ := e.served()
	out := os.Stdout
	fmt.Fprintf(out, "%s\n%s\n", address, strconv.Quote(string(e.server.CA())))
	for questions := bufio.NewScanner(os.Stdin); questions.Scan(); {
		fmt.Fprintln(out, e.reviews.questions())
	}
}
