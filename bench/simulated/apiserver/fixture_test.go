package apiserver

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const namespace = "team-a"

// fixture is a server, and clients of it as the operator and the benchmark have them.
type fixture struct {
	*testing.T
	server *Server
	web    *httptest.Server
	config *rest.Config
	// typed sends protobuf, as client-go does for built-in kinds.
	typed kubernetes.Interface
	// mixed chooses the format by the kind, as controller-runtime does.
	mixed client.WithWatch

	mu sync.Mutex
	// requests so far, as method and URL.
	requests []string
	// closed makes it answer every watch with an error.
	closed bool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s, err := New(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, server: s}
	f.web = httptest.NewUnstartedServer(f)
	f.web.EnableHTTP2 = true
	f.web.StartTLS()
	t.Cleanup(func() { s.Stop(); f.web.Close() })
	f.config = &rest.Config{
		Host: f.web.URL, QPS: -1, UserAgent: "test/1",
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{
			Type: "CERTIFICATE", Bytes: f.web.Certificate().Raw,
		})},
	}
	protobuf := rest.CopyConfig(f.config)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	if f.typed, err = kubernetes.NewForConfig(protobuf); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if f.mixed, err = client.NewWithWatch(f.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return f
}

// ServeHTTP passes requests on to the server.
func (f *fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.String())
	closed := f.closed && r.URL.Query().Get("watch") != ""
	f.mu.Unlock()
	if closed {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	f.server.ServeHTTP(w, r)
}

// understood fails the test where the server was asked for something that it does not know.
func (f *fixture) understood() {
	f.Helper()
	if err := f.server.Err(); err != nil {
		f.Error(err)
	}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// eventually waits until ok.
func (f *fixture) eventually(what string, ok func() bool) {
	f.Helper()
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(time.Millisecond); !ok(); {
		select {
		case <-tick.C:
		case <-deadline:
			f.Fatalf("it does not come: %s", what)
		}
	}
}

// pod with a label.
func pod(name, label string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"job": label}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trainer", Image: "trainer"}}},
	}
}

func (f *fixture) createPod(p *corev1.Pod) *corev1.Pod {
	f.Helper()
	created, err := f.typed.CoreV1().Pods(p.Namespace).Create(f.Context(), p, metav1.CreateOptions{})
	f.must(err)
	return created
}

func (f *fixture) createJob(name string) *v1alpha1.TrainingJob {
	f.Helper()
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	job.Spec.Framework, job.Spec.Image, job.Spec.Replicas = v1alpha1.FrameworkPyTorch, "trainer", new(int32(2))
	f.must(f.mixed.Create(f.Context(), job))
	return job
}
