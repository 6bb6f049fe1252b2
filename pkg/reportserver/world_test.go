package reportserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
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
	rank := trainingjob.RankRef{Role: v1alpha1.RoleWorker, Index: index}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: trainingjob.PodName(job.Name, rank), Namespace: job.Namespace, Labels: trainingjob.PodLabels(job, rank, job.Status.Attempt),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob"))},
	}}
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Status.Phase = corev1.PodRunning
	return pod
}

// memory is the caches.
type memory struct {
	mu       sync.Mutex
	objects  map[string]client.Object
	informer *controllertest.FakeInformer
	broken   error
	reads    int
}

func keyOf(o any, namespace, name string) string { return fmt.Sprintf("%T %s/%s", o, namespace, name) }

func (m *memory) put(o client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[keyOf(o, o.GetNamespace(), o.GetName())] = o
}

func (m *memory) drop(o client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, keyOf(o, o.GetNamespace(), o.GetName()))
}

func (m *memory) find(pointer any, name string) client.Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[strings.TrimPrefix(keyOf(pointer, "team-a", name), "*")]
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.broken != nil {
		return m.broken
	}
	found, ok := m.objects[keyOf(into, key.Namespace, key.Name)]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	switch into := into.(type) { // as the real cache copies
	case *corev1.Pod:
		found.(*corev1.Pod).DeepCopyInto(into)
	case *v1alpha1.TrainingJob:
		found.(*v1alpha1.TrainingJob).DeepCopyInto(into)
	}
	return nil
}

func (m *memory) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("a report must not list")
}

func (m *memory) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return m.informer, nil
}

// reviews is the API server: a token is good when one of its audiences is asked for.
type reviews struct {
	mu     sync.Mutex
	tokens map[string]authenticationv1.TokenReviewStatus
	asked  int
	broken error
	// hold, where set, keeps every answer back until it is closed.
	hold chan struct{}
}

// give a token that is bound to a pod.
func (r *reviews) give(token string, pod *corev1.Pod) {
	r.set(token, authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{audience},
		User: authenticationv1.UserInfo{
			Username: serviceaccount.MakeUsername(pod.Namespace, "default"),
			Extra: map[string]authenticationv1.ExtraValue{
				serviceaccount.PodNameKey: {pod.Name}, serviceaccount.PodUIDKey: {string(pod.UID)},
			},
		},
	})
}

func (r *reviews) set(token string, s authenticationv1.TokenReviewStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[token] = s
}

func (r *reviews) change(token string, do func(*authenticationv1.TokenReviewStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.tokens[token]
	do(&s)
	r.tokens[token] = s
}

func (r *reviews) questions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *reviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	r.mu.Lock()
	r.asked++
	hold, broken, known := r.hold, r.broken, r.tokens[review.Spec.Token]
	r.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if broken != nil {
		return nil, broken
	}
	out := review.DeepCopy()
	if len(known.Audiences) == 0 || slices.ContainsFunc(known.Audiences, func(a string) bool { return slices.Contains(review.Spec.Audiences, a) }) {
		out.Status = known
	}
	return out, nil
}

// desk keeps a job's checkpoints at pvc://data/<job>, and reads what is persisted from an annotation.
type desk struct{}

func (desk) Base(job *v1alpha1.TrainingJob) (checkpoint.URI, bool) {
	u, err := checkpoint.ParseURI("pvc://data/" + job.Name)
	return u, err == nil && job.Annotations["test/checkpoints"] != "off"
}

func (desk) Acknowledged(job *v1alpha1.TrainingJob, r *checkpoint.Report) bool {
	if r.Phase == checkpoint.PhaseResolved {
		return job.Annotations[writtenTo] == "resolved"
	}
	attempt, step, _ := strings.Cut(job.Annotations[writtenTo], "/")
	a, _ := strconv.ParseInt(attempt, 10, 32)
	s, _ := strconv.ParseInt(step, 10, 64)
	return int32(a) > r.Attempt || int32(a) == r.Attempt && s >= r.Checkpoint.Step
}

func (desk) Answer(job *v1alpha1.TrainingJob) checkpoint.Answer {
	a := checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 15}
	if id := job.Annotations["test/command"]; id != "" {
		a.Command, a.ID = checkpoint.CommandCheckpoint, id
	}
	return a
}

// authority is a CA.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// serve puts a certificate of this CA into dir, and into ca.crt the CAs that agents are to trust.
func (a *authority) serve(t testing.TB, dir string, trusted ...*authority) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, dir, map[string][]byte{
		fileCertificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		fileKey:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		fileCA:          bundle(trusted...),
	})
}

func bundle(trusted ...*authority) []byte {
	var all []byte
	for _, a := range trusted {
		all = append(all, a.pem()...)
	}
	return all
}

// replace files all at once, as a kubelet does with a Secret's: they are links through ..data, which is a link itself.
func replace(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	fresh, err := os.MkdirTemp(dir, "..fresh-")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	if err := errors.Join(os.Symlink(filepath.Base(fresh), filepath.Join(dir, "..new")), os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data"))); err != nil {
		t.Fatal(err)
	}
	if old != "" {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
	}
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
