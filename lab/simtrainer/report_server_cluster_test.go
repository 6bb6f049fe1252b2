//go:build cluster

package simtrainer_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const audience = "reports.example.com"

// fakeReportServer authenticates every report at the API server, and keeps it.
type fakeReportServer struct {
	t      *testing.T
	api    client.Client
	server *httptest.Server

	mu      sync.Mutex
	reports map[types.UID][]checkpoint.Report
	// toReject and rejected count, by pod, the reports to reject and those rejected so far.
	toReject, rejected map[string]int
	commands           map[string]checkpoint.Answer
}

func newFakeReportServer(t *testing.T, api client.Client) *fakeReportServer {
	r := &fakeReportServer{
		t: t, api: api,
		reports:  map[types.UID][]checkpoint.Report{},
		toReject: map[string]int{},
		rejected: map[string]int{},
		commands: map[string]checkpoint.Answer{},
	}
	r.server = httptest.NewTLSServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *fakeReportServer) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw}))
}

// ServeHTTP takes one report.
func (r *fakeReportServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}
	if err := r.api.Create(req.Context(), review); err != nil || !review.Status.Authenticated {
		r.t.Errorf("a token that is not valid: %v, %+v", err, review.Status)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	extra := review.Status.User.Extra
	pod, uid := extra["authentication.kubernetes.io/pod-name"], extra["authentication.kubernetes.io/pod-uid"]
	if len(pod) != 1 || len(uid) != 1 || !slices.Contains(review.Status.Audiences, audience) {
		r.t.Errorf("the token names no pod: %+v", review.Status)
		http.Error(w, "which pod?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	report, err := checkpoint.ParseReport(body)
	if err != nil {
		r.t.Errorf("a report that is not valid: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rejected[pod[0]] < r.toReject[pod[0]] {
		r.rejected[pod[0]]++
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not the leader", http.StatusServiceUnavailable)
		return
	}
	r.reports[types.UID(uid[0])] = append(r.reports[types.UID(uid[0])], *report)
	answer, ok := r.commands[pod[0]]
	if !ok || report.Step == 0 { // nothing to save before the first step
		answer = checkpoint.Answer{Command: checkpoint.CommandNone}
	}
	answer.MinIntervalSeconds = 1
	data, err := checkpoint.Encode(answer)
	if err != nil {
		r.t.Error(err)
	}
	_, _ = w.Write(data)
}

// of returns the reports that came with a token bound to the pod.
func (r *fakeReportServer) of(pod *corev1.Pod) []checkpoint.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reports[pod.UID])
}

// reject makes the server reject the next reports of a pod.
func (r *fakeReportServer) reject(pod string, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.toReject[pod] = times
}

// rejections is how many reports of a pod were rejected.
func (r *fakeReportServer) rejections(pod string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rejected[pod]
}

// command makes the server answer the reports of a pod with a command.
func (r *fakeReportServer) command(pod string, a checkpoint.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands[pod] = a
}
