package reportserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	audience = "trainingjob-reports.mlplatform.example.com"
	host     = "trainingjob-reports.trainingjob-system.svc"
	// writtenTo is the fake desk's status: <attempt>/<step> of the commit that is persisted, or "resolved".
	writtenTo = "test/written"
	patience  = 2 * time.Minute
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a Server over caches, an API server's token reviews and a desk that a test controls.
type world struct {
	t        testing.TB
	clock    *testingclock.FakeClock
	cache    *memory
	reviews  *reviews
	inbox    *Inbox
	queue    *controllertest.Queue
	server   *Server
	elected  chan struct{}
	registry *prometheus.Registry
	dir      string
	ca       *authority
}

// newWorld has a leader, and the job "bert" of team-a in attempt 2 with its ranks 0 and 1, each with a token of its pod's name.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, clock: testingclock.NewFakeClock(start), elected: make(chan struct{}), registry: prometheus.NewRegistry(), dir: t.TempDir(),
		cache:   &memory{objects: map[string]client.Object{}, informer: &controllertest.FakeInformer{}},
		reviews: &reviews{tokens: map[string]authenticationv1.TokenReviewStatus{}}, ca: newAuthority(t, "ca-1"),
	}
	close(w.elected)
	w.ca.serve(t, w.dir, w.ca)
	w.restart()
	job := newJob("bert", "uid-bert", 2)
	w.cache.put(job)
	for i := range int32(2) {
		w.add(job, i)
	}
	return w
}

// restart is what a new leader begins with: nothing.
func (w *world) restart() {
	w.t.Helper()
	w.inbox, w.queue, w.registry = NewInbox(w.clock), newQueue(), prometheus.NewRegistry()
	var err error
	if w.server, err = New(Options{
		BindAddress: "127.0.0.1:0", URL: "https://" + host + ":9443", CertificateDir: w.dir, Audience: audience, Elected: w.elected,
		Cache: w.cache, Reviews: w.reviews, Desk: desk{}, Inbox: w.inbox, Clock: w.clock, Registry: w.registry, Log: logr.Discard(),
	}); err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(w.inbox.Start(w.t.Context(), w.queue), w.server.follow(w.t.Context())); err != nil {
		w.t.Fatal(err)
	}
}

// add a rank and its token.
func (w *world) add(job *v1alpha1.TrainingJob, index int32) *corev1.Pod {
	pod := newPod(job, index)
	w.cache.put(pod)
	w.reviews.give(pod.Name, pod)
	return pod
}

// change an object of the cache, as a watch does.
func change[O client.Object](w *world, name string, do func(O)) O {
	w.t.Helper()
	now := w.cache.find(new(O), name).DeepCopyObject().(O)
	before := now.DeepCopyObject().(O)
	do(now)
	w.cache.put(now)
	if _, isJob := any(now).(*v1alpha1.TrainingJob); isJob {
		w.cache.informer.Update(before, now)
	}
	return now
}

// write is the reconciler's write of a commit.
func (w *world) write(job, what string) {
	change(w, job, func(j *v1alpha1.TrainingJob) { metav1.SetMetaDataAnnotation(&j.ObjectMeta, writtenTo, what) })
}

// woken takes the jobs that the reconciler was woken for.
func (w *world) woken() []string {
	var names []string
	for w.queue.Len() > 0 {
		req, _ := w.queue.Get()
		w.queue.Done(req)
		names = append(names, req.Name)
	}
	return names
}

func newQueue() *controllertest.Queue {
	return &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
}

// request with the defaults of an honest agent of bert's rank 0.
type request struct {
	method, path, contentType, token, body string
	header                                 http.Header
}

func post(body string) request {
	return request{method: http.MethodPost, path: Path, contentType: "application/json", token: "bert-worker-0", body: body}
}

func (w *world) do(r request) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(w.t.Context(), r.method, "https://"+host+r.path, strings.NewReader(r.body))
	req.Header.Set("Content-Type", r.contentType)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	w.server.ServeHTTP(rec, req)
	return rec
}

// says posts and compares the answer.
func (w *world) says(r request, code int, text string) {
	w.t.Helper()
	rec := w.do(r)
	if rec.Code != code || !strings.Contains(rec.Body.String(), text) {
		w.t.Errorf("got %d %q, want %d with %q", rec.Code, strings.TrimSpace(rec.Body.String()), code, text)
	}
}

// latest that is known of bert.
func (w *world) latest() Received {
	r, _ := w.inbox.Latest("uid-bert")
	return r
}

func newJob(name string, uid types.UID, attempt int32) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a", UID: uid},
		Spec:       v1alpha1.TrainingJobSpec{Framework: v1alpha1.FrameworkPyTorch, Replicas: new(int32(2))},
	}
	job.Status.Attempt = attempt
	return job
}

func newPod(job *v1alpha1.TrainingJob, index int32) *corev1.Pod {
	rank := spec.RankRef{Role: v1alpha1.RoleWorker, Index: index}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: spec.PodName(job.Name, rank), Namespace: job.Namespace, Labels: render.PodLabels(job, rank, job.Status.Attempt),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob"))},
	}}
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Status.Phase = corev1.PodRunning
	return pod
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s", what)
	}
}

func text(r io.Reader) string {
	data, _ := io.ReadAll(r)
	return strings.TrimSpace(string(data))
}
