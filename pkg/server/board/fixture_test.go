package board

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// now is when everything happens.
var now = time.Date(2026, 11, 25, 12, 30, 0, 0, time.UTC)

const hostile = `<img src=x onerror="alert(1)">`

// api is a fake of the API: its jobs, what users may do, and what was asked for.
type api struct {
	mu   sync.Mutex
	jobs []*v1alpha1.TrainingJob
	// denied are the verbs that a user may not use: "bob get".
	denied map[string]bool
	away   error
	// refuses is the answer to changes; asked are those that were asked for.
	refuses  error
	warnings []string
	asked    []string
	created  []*rest.CreateInput
	// followers are those who wait for changes.
	followers map[chan live.Event]bool
	follows   int
	lists     int
	keptRecords
	pages
}

func (a *api) locked(do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// check what the caller may do. The caller holds the lock.
func (a *api) check(ctx context.Context, verb string) error {
	id, known := identity.FromContext(ctx)
	switch {
	case !known:
		return problem.New(problem.Unauthenticated, "the request does not say who is calling", "send a token")
	case a.away != nil:
		return a.away
	case a.denied[id.Name+" "+verb]:
		return problem.Newf(problem.Forbidden, "%s cannot %s trainingjobs", id.Name, verb)
	}
	return nil
}

func (a *api) Clusters(context.Context) ([]rest.ClusterStatus, error) {
	return []rest.ClusterStatus{{Name: "main", Default: true}, {Name: "other"}}, nil
}

func (a *api) VisibleJobs(ctx context.Context, cluster, _ string) ([]*v1alpha1.TrainingJob, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	if err := a.check(ctx, "list"); err != nil {
		return nil, err
	}
	if cluster != "main" {
		return nil, problem.Newf(problem.NotFound, "there is no cluster %s", cluster)
	}
	return slices.Clone(a.jobs), nil
}

func (a *api) find(at rest.JobPath) (*v1alpha1.TrainingJob, error) {
	for _, job := range a.jobs {
		if job.Namespace == at.Namespace && job.Name == at.Name {
			return job, nil
		}
	}
	return nil, problem.Newf(problem.NotFound, "there is no job %s", at.Name)
}

func (a *api) GetJob(ctx context.Context, in *rest.GetInput) (*rest.JobOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(ctx, "get"); err != nil {
		return nil, err
	}
	job, err := a.find(in.JobPath)
	if err != nil {
		return nil, err
	}
	return &rest.JobOutput{Body: rest.NewJob(job)}, nil
}

func (a *api) May(ctx context.Context, _ string, do authorizationv1.ResourceAttributes) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	verb := do.Verb
	if do.Resource != "trainingjobs" {
		verb += " " + do.Resource
	}
	return a.check(ctx, verb) == nil, a.away
}

func (a *api) ask(what string) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, what)
	return a.warnings, a.refuses
}

func (a *api) ActOnJob(_ context.Context, action rest.Action, in *rest.ActionInput) (*rest.JobOutput, error) {
	warnings, err := a.ask(fmt.Sprintf("%s %s/%s %s", action, in.Namespace, in.Name, in.IfMatch.IfMatch))
	return &rest.JobOutput{Warning: warnings}, err
}

func (a *api) DeleteJob(_ context.Context, in *rest.DeleteInput) (*rest.DeleteOutput, error) {
	warnings, err := a.ask(fmt.Sprintf("delete %s/%s %s", in.Namespace, in.Name, in.IfMatch.IfMatch))
	return &rest.DeleteOutput{Warning: warnings}, err
}

func (a *api) CreateJob(_ context.Context, in *rest.CreateInput) (*rest.CreateOutput, error) {
	warnings, err := a.ask("create " + in.Namespace + " " + in.DryRun.DryRun)
	a.locked(func() { a.created = append(a.created, in) })
	return &rest.CreateOutput{Warning: warnings, Body: rest.NewJob(newJob(in.Namespace, "made"))}, err
}

func (a *api) Follow(string, live.Filter) (<-chan live.Event, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil {
		return nil, nil, a.away
	}
	changes := make(chan live.Event, 100)
	a.followers[changes] = true
	a.follows++
	return changes, func() { a.locked(func() { delete(a.followers, changes) }) }, nil
}

// change the jobs, and tell the followers.
func (a *api) change(edit func()) {
	a.locked(func() {
		edit()
		for changes := range a.followers {
			changes <- live.Event{}
		}
	})
}

// set a new version of a job.
func (a *api) set(name string, edit func(*v1alpha1.TrainingJob)) {
	a.change(func() {
		for i, job := range a.jobs {
			if job.Name == name {
				a.jobs[i] = job.DeepCopy()
				a.jobs[i].ResourceVersion += "0"
				edit(a.jobs[i])
			}
		}
	})
}

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
}

func newServer(t *testing.T, jobs ...*v1alpha1.TrainingJob) *server {
	t.Helper()
	s := &server{t: t, clock: clocktesting.NewFakeClock(now)}
	s.api = &api{jobs: jobs, denied: map[string]bool{}, followers: map[chan live.Event]bool{}}
	var err error
	s.board, err = New(Options{
		GPU:  "nvidia.com/gpu",
		Jobs: s.api, Reports: s.api, Changes: s.api, Placement: s.api, Live: s.api,
		Clock: s.clock, Log: logr.Discard(),
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

// answer of a request, which does not follow redirects.
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

// browser shows a page by its updates alone, as board.js does.
type browser struct {
	t      *testing.T
	server *server
	user   string
	path   string
	end    context.CancelFunc

	mu         sync.Mutex
	containers map[string][]string
	elements   map[string]string
	digest     string
	events     []event
	ended      bool
}

// event of a stream.
type event struct{ name, id, data string }

// open a page's stream in a browser that has the digest of what it shows.
func (s *server) open(user, path, state string) *browser {
	s.t.Helper()
	b := &browser{
		t: s.t, server: s, user: user, path: path, containers: map[string][]string{}, elements: map[string]string{},
	}
	b.connect(state)
	return b
}

func (b *browser) connect(state string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.end = cancel
	separator := "?"
	if strings.Contains(b.path, "?") {
		separator = "&"
	}
	path := b.path + separator + "live=1&state=" + url.QueryEscape(state)
	r := b.server.request(ctx, http.MethodGet, path, b.user, nil)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		b.t.Fatalf("status %d, %s", resp.StatusCode, got)
	}
	b.mu.Lock()
	b.ended, b.events = false, nil
	b.mu.Unlock()
	go b.read(resp.Body)
}

func (b *browser) read(body io.ReadCloser) {
	defer body.Close()
	var e event
	for lines := bufio.NewReaderSize(body, 1<<20); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.mu.Lock()
			b.ended = true
			b.mu.Unlock()
			return
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "" || value != "" {
				b.take(e)
			}
			e = event{}
		}
	}
}

func (b *browser) take(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
	if e.name != eventPatch {
		return
	}
	b.digest = e.id
	var p fragment.Patch
	if err := json.Unmarshal([]byte(e.data), &p); err != nil {
		b.t.Error(err)
	}
	if p.All {
		clear(b.containers)
	}
	maps.Copy(b.elements, p.Set)
	maps.Copy(b.containers, p.Order)
}

// rows that are shown, in their order, and the text of all.
func (b *browser) shown(container string) (ids []string, html string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.containers[container] {
		html += b.elements[id]
	}
	return b.containers[container], html
}

// patches that were sent on the connection.
func (b *browser) patches() []fragment.Patch {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []fragment.Patch
	for _, e := range b.events {
		if e.name == eventPatch {
			var p fragment.Patch
			if err := json.NewDecoder(bytes.NewReader([]byte(e.data))).Decode(&p); err != nil {
				b.t.Error(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// last event of a name.
func (b *browser) last(name string) (event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range slices.Backward(b.events) {
		if e.name == name {
			return e, true
		}
	}
	return event{}, false
}

func (b *browser) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 2*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// soon lets time pass until something is so.
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
