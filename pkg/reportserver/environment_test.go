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
	// bertDir is the directory of job bert's checkpoints.
	bertDir  = "pvc://data/bert-uidbert"
	patience = 2 * time.Minute
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// environment is a Server with the caches, token reviews and clock that it uses.
type environment struct {
	t       testing.TB
	clock   *testingclock.FakeClock
	cache   *fakeCache
	reviews *fakeTokenReviews
	store   *Store
	// queue of the reconciler.
	queue    *controllertest.Queue
	server   *Server
	elected  chan struct{}
	registry *prometheus.Registry
	dir      string
	ca       *authority
}

// newEnvironment has a leader, and job bert of team-a in attempt 2 with ranks 0 and 1. Each rank has a
// token of its pod's name.
func newEnvironment(t testing.TB) *environment {
	t.Helper()
	e := &environment{
		t: t, clock: testingclock.NewFakeClock(start), elected: make(chan struct{}),
		registry: prometheus.NewRegistry(), dir: t.TempDir(),
		cache:   &fakeCache{objects: map[string]client.Object{}, informer: &controllertest.FakeInformer{}},
		reviews: &fakeTokenReviews{tokens: map[string]authenticationv1.TokenReviewStatus{}},
		ca:      newAuthority(t, "ca-1"),
	}
	close(e.elected)
	e.ca.serve(t, e.dir, e.ca)
	e.restart()
	job := newJob("bert", "uid-bert", 2)
	e.cache.put(job)
	for i := range int32(2) {
		e.add(job, i)
	}
	return e
}

// restart starts a new leader, which has received nothing.
func (e *environment) restart() {
	e.t.Helper()
	e.queue, e.registry = newQueue(), prometheus.NewRegistry()
	var err error
	if e.server, err = New(Options{
		BindAddress: "127.0.0.1:0", URL: "https://" + host + ":9443", CertificateDir: e.dir, Audience: audience,
		Elected: e.elected,
		Cache:   e.cache, Reviews: e.reviews, Clock: e.clock, Registry: e.registry, Log: logr.Discard(),
	}); err != nil {
		e.t.Fatal(err)
	}
	e.store = e.server.Store
	if err := errors.Join(e.store.Start(e.t.Context(), e.queue), e.server.watchJobs(e.t.Context())); err != nil {
		e.t.Fatal(err)
	}
}

// add adds a rank and its token.
func (e *environment) add(job *v1alpha1.TrainingJob, index int32) *corev1.Pod {
	pod := newPod(job, index)
	e.cache.put(pod)
	e.reviews.give(pod.Name, pod)
	return pod
}

// change changes an object in the cache, as a watch does.
func change[O client.Object](e *environment, name string, do func(O)) O {
	e.t.Helper()
	now := e.cache.find(new(O), name).DeepCopyObject().(O)
	before := now.DeepCopyObject().(O)
	do(now)
	e.cache.put(now)
	if _, isJob := any(now).(*v1alpha1.TrainingJob); isJob {
		e.cache.informer.Update(before, now)
	}
	return now
}

// write puts bert's commit into the status, as the reconciler does.
func (e *environment) write(step int64) {
	change(e, "bert", func(j *v1alpha1.TrainingJob) { setCommit(j, step) })
}

func setCommit(job *v1alpha1.TrainingJob, step int64) {
	job.Status.Checkpoint = &v1alpha1.CheckpointStatus{Latest: &v1alpha1.CheckpointPoint{Step: step}}
}

// ask makes the answers to the job carry a command.
func ask(job *v1alpha1.TrainingJob, id string) {
	job.Status.Phase, job.Status.Drain = v1alpha1.PhaseDraining, &v1alpha1.DrainStatus{CommandID: id}
}

// woken empties the queue and returns its jobs.
func (e *environment) woken() []string {
	var names []string
	for e.queue.Len() > 0 {
		req, _ := e.queue.Get()
		e.queue.Done(req)
		names = append(names, req.Name)
	}
	return names
}

func newQueue() *controllertest.Queue {
	return &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
}

// request to the server. post makes one as the agent of bert's rank 0 does.
type request struct {
	method, path, contentType, token, body string
	header                                 http.Header
}

func post(body string) request {
	return request{method: http.MethodPost, path: Path, contentType: "application/json",
		token: "bert-worker-0", body: body}
}

func (e *environment) do(r request) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(e.t.Context(), r.method, "https://"+host+r.path,
		strings.NewReader(r.body))
	req.Header.Set("Content-Type", r.contentType)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	e.server.ServeHTTP(rec, req)
	return rec
}

// expect posts, and compares the code and a part of the answer.
func (e *environment) expect(r request, code int, text string) {
	e.t.Helper()
	rec := e.do(r)
	if rec.Code != code || !strings.Contains(rec.Body.String(), text) {
		e.t.Errorf("got %d %q, want %d with %q", rec.Code, strings.TrimSpace(rec.Body.String()), code, text)
	}
}

// received from bert.
func (e *environment) received() received {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if known, ok := e.store.jobs.Get(types.UID("uid-bert")); ok {
		return known.(*entry).received
	}
	return received{}
}

func newJob(name string, uid types.UID, attempt int32) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a", UID: uid},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Replicas: new(int32(2)),
			Checkpoint: &v1alpha1.CheckpointSpec{PVC: v1alpha1.CheckpointClaim{ClaimName: "data"}},
		},
	}
	job.Status.Attempt = attempt
	return job
}

func newPod(job *v1alpha1.TrainingJob, index int32) *corev1.Pod {
	rank := spec.RankRef{Role: v1alpha1.RoleWorker, Index: index}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: spec.PodName(job.Name, rank), Namespace: job.Namespace, Labels: render.PodLabels(job,
			rank, job.Status.Attempt),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job,
			v1alpha1.GroupVersion.WithKind("TrainingJob"))},
	}}
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Status.Phase = corev1.PodRunning
	return pod
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s", what)
	}
}

func text(r io.Reader) string {
	data, _ := io.ReadAll(r)
	return strings.TrimSpace(string(data))
}
