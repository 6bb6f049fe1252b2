package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/memorylimit"
)

const (
	// attackedVariable makes a process of this test the server that the tests attack.
	attackedVariable = "TEST_ATTACKED_SERVER"
	// containerLimit of deploy/server, in bytes.
	containerLimit = 1 << 30
	// attackDeadline is generous: nothing here measures time.
	attackDeadline = 2 * time.Minute
	// ingress is the address of a trusted proxy.
	ingress = "127.0.0.9"
)

// TestAttackedServer is the server of the other tests, in a process of its own, whose memory they measure.
func TestAttackedServer(t *testing.T) {
	if os.Getenv(attackedVariable) == "" {
		return // the other tests start it
	}
	if err := memorylimit.Follow(memoryVariable, os.Getenv); err != nil {
		t.Fatal(err)
	}
	p := newAttackedProcess(t)
	p.config.Listen.BindAddress = free(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop := startAll(ctx, t, func() ([]runnable, error) {
		servers, err := p.serveAPI()
		return append(servers, p.callers.access.Start), err
	})
	fmt.Println("serving", p.config.Listen.BindAddress)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
	cancel()
	_ = stop() // of the attacks some requests may be left
}

// newAttackedProcess has a cluster that takes every token as the name of a user.
func newAttackedProcess(t *testing.T) *process {
	cluster := httptest.NewServer(http.HandlerFunc(answerReviews))
	t.Cleanup(cluster.Close)
	p := newProcess(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	write(t, kubeconfig, fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
`, cluster.URL))
	p.config.Clusters[0].Kubeconfig = kubeconfig
	p.config.Identity.TokenReview.Enabled, p.config.Access.WideImpersonation = true, true
	p.config.Limits.AddressRate = 100_000 // all clients of the tests have few addresses
	p.config.Listen.TrustedProxies = []string{ingress + "/32"}
	p.registry = prometheus.NewRegistry()
	var err error
	if p.clusters, err = openClusters(p.config); err != nil {
		t.Fatal(err)
	}
	if p.callers, err = p.newCallers(); err != nil {
		t.Fatal(err)
	}
	return p
}

// answerReviews takes every token as the name of a user who may do everything but list jobs, except those
// that begin with "bad".
func answerReviews(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	sent, _, _ := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	var answer any
	status, group := http.StatusOK, v1alpha1.GroupVersion
	switch review := sent.(type) {
	case *authenticationv1.TokenReview:
		review.Status.Authenticated = !strings.HasPrefix(review.Spec.Token, "bad")
		review.Status.User.Username = review.Spec.Token
		review.Status.Audiences = review.Spec.Audiences
		answer = review
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status.Allowed = true
		answer = review
	}
	switch r.URL.Path {
	case "/apis/" + group.Group:
		version := metav1.GroupVersionForDiscovery{GroupVersion: group.String(), Version: group.Version}
		answer = metav1.APIGroup{
			Name: group.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		}
	case "/apis/" + group.String():
		answer = metav1.APIResourceList{GroupVersion: group.String(), APIResources: []metav1.APIResource{
			{Name: "trainingjobs", Kind: "TrainingJob", Namespaced: true},
		}}
	}
	if answer == nil {
		status = http.StatusForbidden
		answer = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden,
			Reason: metav1.StatusReasonForbidden}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// attacked is a running server.
type attacked struct {
	t       *testing.T
	address string
	process *os.Process
}

func startAttacked(t *testing.T) *attacked {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestAttackedServer$")
	command.Env = append(os.Environ(),
		attackedVariable+"=yes", fmt.Sprintf("%s=%d", memoryVariable, containerLimit))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	a := &attacked{t: t, process: command.Process}
	for a.address == "" && lines.Scan() {
		if address, is := strings.CutPrefix(lines.Text(), "serving "); is {
			a.address = address
		}
	}
	ended := make(chan struct{})
	go func() {
		for lines.Scan() {
			t.Log(lines.Text())
		}
		close(ended)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-ended
		if err := command.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	for _, user := range []string{"mallory", "mia"} { // the server remembers the token
		eventually(t, "the server does not act for "+user, func() bool {
			return a.create(user, "kind: Job") == http.StatusBadRequest
		})
	}
	return a
}

// peakMemory is the most that the server has had resident, in bytes.
func (a *attacked) peakMemory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kibibytes, err := strconv.ParseInt(strings.Fields(rest + " -")[0], 10, 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return kibibytes << 10
}

// expectPeak fails if the server has had more memory.
func (a *attacked) expectPeak(most int64) {
	a.t.Helper()
	peak := a.peakMemory()
	a.t.Logf("the server took %d MiB at most", peak>>20)
	if peak > most {
		a.t.Errorf("the server took %d MiB, more than %d", peak>>20, most>>20)
	}
}

// dial connects from an address of this machine. The connection closes with the test.
func (a *attacked) dial(from string) net.Conn {
	a.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(a.t.Context(), "tcp", a.address)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(attackDeadline)); err != nil {
		a.t.Fatal(err)
	}
	return conn
}

// create sends a body as a user, and returns the status of the answer.
func (a *attacked) create(user, body string) int {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), attackDeadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+a.address+"/api/v1/clusters/main/namespaces/default/trainingjobs", strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+user)
	r.Header.Set("Content-Type", "application/yaml")
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Error(err)
		return 0
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 120))
	a.t.Logf("%d bytes of %s: %d after %s, %.120s", len(body), user, response.StatusCode,
		time.Since(began).Round(time.Millisecond), text)
	return response.StatusCode
}
