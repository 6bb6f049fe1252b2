package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// now is when everything happens.
var now = time.Date(2026, 11, 25, 12, 30, 0, 0, time.UTC)

// rights of users to one cluster. "*" in a user's namespaces stands for all.
type rights struct {
	mu sync.Mutex
	// lists are the namespaces whose jobs a user may list and get.
	lists  map[string][]string
	client client.WithWatch
	config *rest.Config
	// away is why the cluster cannot be asked.
	away error
	// logs reports whether logs may be read still.
	logs bool
	// getsOnly: no user may list jobs.
	getsOnly bool
	// most namespaces that are reviewed for one request; 0: any number.
	most int
}

func (a *rights) Names() []string { return []string{"main", "other"} }

func (a *rights) may(ctx context.Context, namespace string) bool {
	id, _ := identity.FromContext(ctx)
	return a.allows(id, namespace)
}

func (a *rights) allows(id identity.Identity, namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.lists[id.Name]
	return slices.Contains(of, "*") || slices.Contains(of, namespace)
}

func (a *rights) grant(user string, namespaces ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists[user] = namespaces
}
func (a *rights) As(string, identity.Identity) (client.WithWatch, *rest.Config, error) {
	return a.client, a.config, a.away
}

func (a *rights) May(
	_ context.Context, _ string, id identity.Identity, what authorizationv1.ResourceAttributes,
) (bool, error) {
	if what.Subresource == "log" {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.logs, a.away
	}
	return a.allows(id, what.Namespace), a.away
}

// tooMany is the error for more namespaces than are reviewed for one request.
type tooMany struct{}

func (tooMany) Error() string { return "too many namespaces" }
func (tooMany) Unwrap() error { return access.ErrTooMany }
func (tooMany) Problem() (status int, detail, remedy string, retryAfter time.Duration) {
	return http.StatusForbidden, "too many namespaces", "request one namespace", 0
}

func (a *rights) Visible(_ context.Context, _ string, id identity.Identity, _ string, namespaces []string) (
	bool, []string, error,
) {
	if a.most > 0 && len(namespaces) > a.most && !a.allows(id, "") {
		return false, nil, tooMany{}
	}
	if a.getsOnly {
		return false, nil, a.away
	}
	var visible []string
	for _, namespace := range namespaces {
		if a.allows(id, namespace) {
			visible = append(visible, namespace)
		}
	}
	return a.allows(id, ""), visible, a.away
}

// past is a history of fixed answers, and what it was asked for.
type past struct {
	records map[types.UID]history.Record
	page    store.JobsPage
	samples []history.Sample
	usages  []store.Usage
	err     error

	jobs       store.JobsQuery
	sampled    store.SamplesQuery
	accounting []store.AccountingQuery
}

func (p *past) Job(_ context.Context, key history.Key) (history.Record, error) {
	r, known := p.records[key.UID]
	if p.err == nil && !known {
		return r, store.ErrNotFound
	}
	return r, p.err
}
func (p *past) Jobs(_ context.Context, q store.JobsQuery) (store.JobsPage, error) {
	p.jobs = q
	return p.page, p.err
}
func (p *past) Samples(_ context.Context, _ history.Key, q store.SamplesQuery) ([]history.Sample, error) {
	p.sampled = q
	return p.samples, p.err
}
func (p *past) Accounting(_ context.Context, q store.AccountingQuery) ([]store.Usage, error) {
	p.accounting = append(p.accounting, q)
	return p.usages, p.err
}

// source is an informer whose events the test plays.
type source struct {
	toolscache.SharedIndexInformer
	handler toolscache.ResourceEventHandler
	ready   chan struct{}
}

func (s *source) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer,
	error) {
	return s, nil
}

func (s *source) AddEventHandler(h toolscache.ResourceEventHandler) (
	toolscache.ResourceEventHandlerRegistration, error,
) {
	s.handler = h
	close(s.ready)
	return synced{}, nil
}

type synced struct{}

func (synced) HasSynced() bool                          { return true }
func (synced) HasSyncedChecker() toolscache.DoneChecker { return synced{} }
func (synced) Name() string                             { return "synced" }
func (synced) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// server under test, with its surroundings.
type server struct {
	*httptest.Server
	t      *testing.T
	access *rights
	past   *past
	source *source
	clock  *clocktesting.FakeClock
	scheme *runtime.Scheme
	logged *[]string
	rest   *Server
	// noStream is why no stream may begin.
	noStream error
}

// newServer knows the cluster main with some jobs and pods; the cluster other is not synced. Ann may list all
// jobs, bob those of team-a; eve may nothing.
func newServer(t *testing.T, objects ...client.Object) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	a := &rights{logs: true, lists: map[string][]string{"ann": {"*"}, "bob": {"team-a"}}}
	a.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithInterceptorFuncs(a.holds()).Build()
	s := &server{
		t: t, access: a, past: &past{}, source: &source{ready: make(chan struct{})},
		clock: clocktesting.NewFakeClock(now), scheme: scheme, logged: &[]string{},
	}
	var mu sync.Mutex
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		*s.logged = append(*s.logged, args)
	}, funcr.Options{})
	clusters := live.New(map[string]live.Informers{"main": s.source, "other": away{}}, logr.Discard())
	go func() { _ = clusters.Run(t.Context()) }()
	<-s.source.ready
	for _, o := range objects {
		if job, ok := o.(*v1alpha1.TrainingJob); ok {
			cached := s.stored(job)
			cached.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			s.source.handler.OnAdd(cached, true)
		}
	}
	mux := http.NewServeMux()
	var err error
	s.rest, err = New(mux, Options{
		Version: "test", Access: a, Live: clusters, History: s.past, Currency: "EUR", Clock: s.clock, Log: log,
		Prices:      map[string]*big.Rat{"H100": big.NewRat(5, 2), "free": new(big.Rat)},
		BeginStream: func(context.Context) error { return s.noStream },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("User")
		ctx := r.Context()
		if user != "anonymous" {
			ctx = as(ctx, user)
		}
		mux.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(s.Close)
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return clusters.Synced("main"), nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type away struct{}

func (away) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errors.New("connection refused")
}

// holds the rights of users as an API server does.
func (a *rights) holds() interceptor.Funcs {
	deny := func(ctx context.Context, verb, namespace, name string) error {
		if a.may(ctx, namespace) {
			return nil
		}
		return apierrors.NewForbidden(trainingJobs, name,
			fmt.Errorf("User %q cannot %s resource %q in the namespace %q",
				nameOf(ctx), verb, trainingJobs.Resource, namespace))
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return errors.Join(deny(ctx, "get", key.Namespace, key.Name), c.Get(ctx, key, o, opts...))
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			return errors.Join(deny(ctx, "list", o.ApplyOptions(opts).Namespace, ""), c.List(ctx, l, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := deny(ctx, "create", o.GetNamespace(), o.GetName()); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	}
}

var trainingJobs = schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "trainingjobs"}

func as(ctx context.Context, user string) context.Context {
	return identity.NewContext(ctx, identity.Identity{Name: user})
}

func nameOf(ctx context.Context) string {
	id, _ := identity.FromContext(ctx)
	return id.Name
}

func (s *server) stored(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	s.t.Helper()
	ctx := as(s.t.Context(), "ann")
	got := &v1alpha1.TrainingJob{}
	if err := s.access.client.Get(ctx, client.ObjectKeyFromObject(job), got); err != nil {
		s.t.Fatal(err)
	}
	return got
}
func newJob(namespace, name string, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"name": name},
		},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "example.com/trainer:1", Command: []string{"train"},
			Replicas: new(int32(2)),
		},
	}
	for _, e := range edit {
		e(job)
	}
	return job
}

func inPhase(p v1alpha1.Phase) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) { job.Status.Phase = p }
}

// request of a user. Headers are given as "Name: value".
type request struct {
	method, path, user, body string
	headers                  []string
}

// response with its body read.
type response struct {
	*http.Response
	body []byte
}

func (s *server) do(r request) response {
	s.t.Helper()
	if r.method == "" {
		r.method = http.MethodGet
	}
	if !strings.HasPrefix(r.path, "/") {
		r.path = "/api/v1/clusters/main/" + r.path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), r.method, s.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if r.user == "" {
		r.user = "ann"
	}
	req.Header.Set("User", r.user)
	for _, header := range r.headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp, body}
}

// decode the body of an answer of a status.
func (r response) decode(t *testing.T, status int, into any) {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", r.StatusCode, status, r.body)
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
}

// problem of an answer.
func (r response) problem(t *testing.T) problem.Problem {
	t.Helper()
	var p problem.Problem
	r.decode(t, r.StatusCode, &p)
	if got := r.Header.Get("Content-Type"); got != problem.MediaType || p.Status != r.StatusCode {
		t.Errorf("status %d with Content-Type %s: %s", r.StatusCode, got, r.body)
	}
	return p
}
