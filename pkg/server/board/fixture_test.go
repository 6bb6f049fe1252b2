package board

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
)

// now is the time of all tests.
var now = time.Date(2026, 11, 25, 12, 30, 0, 0, time.UTC)

const hostile = `<img src=x onerror="alert(1)">`

func newJob(namespace, name string, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1",
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	for _, e := range edit {
		e(job)
	}
	return job
}

func inPhase(p v1alpha1.Phase) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) { job.Status.Phase = p }
}

// server under test. The header User names the caller.
type server struct {
	*httptest.Server
	t     *testing.T
	api   *api
	board *Board
	clock *clocktesting.FakeClock

	registry *prometheus.Registry
}

func newServer(t *testing.T, jobs ...*v1alpha1.TrainingJob) *server {
	t.Helper()
	s := &server{t: t, clock: clocktesting.NewFakeClock(now), registry: prometheus.NewRegistry()}
	s.api = &api{jobs: jobs, denied: map[string]bool{}, followers: map[chan live.Event]bool{}}
	var err error
	s.board, err = New(Options{
		GPU: "nvidia.com/gpu", UserKeys: []string{"owner"},
		Jobs: s.api, Reports: s.api, Changes: s.api, Placement: ranksPlaced{s.api}, Live: jobsLive{s.api},
		Clock: s.clock, Log: logr.Discard(), Registry: s.registry,
		User: func(r *http.Request) User {
			id, _ := identity.FromContext(r.Context())
			return User{Name: id.Name, Logout: "/logout"}
		},
		CSRF: func(*http.Request) string { return "token" },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get("User"); user != "" {
			r = r.WithContext(identity.NewContext(r.Context(), identity.Identity{Name: user}))
		}
		s.board.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

const mainJobs = "/board/clusters/main/jobs"

func (s *server) request(ctx context.Context, method, path, user string, form url.Values) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("User", user)
	r.Header.Set("Accept", "text/html")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

// answer to a request; redirects are not followed.
type answer struct {
	*http.Response
	body string
}

func (s *server) send(r *http.Request) answer {
	s.t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp, string(body)}
}

func (s *server) get(path string) answer {
	s.t.Helper()
	return s.send(s.request(s.t.Context(), http.MethodGet, path, "ann", nil))
}

func (s *server) post(path string, fields ...string) answer {
	s.t.Helper()
	form := url.Values{CSRFField: {"token"}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return s.send(s.request(s.t.Context(), http.MethodPost, path, "ann", form))
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// soon advances the clock until a condition holds.
func (s *server) soon(what string, is func() bool) {
	s.t.Helper()
	eventually(s.t, what, func() bool {
		if is() {
			return true
		}
		s.clock.Step(time.Second)
		return is()
	})
}
