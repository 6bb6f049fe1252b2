//go:build cluster

package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// policies: the API server says what judge says.
func (s server) policies(t *testing.T) {
	s.namespace(t, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trainingjob-system"}})
	for _, p := range policies() {
		t.Run(p.path, func(t *testing.T) {
			s.namespace(t, p.namespace)
			s.install(t, p)
			for name, v := range p.cases {
				err := s.client.Create(t.Context(), v.job(p.namespace.Name), client.DryRunAll)
				switch {
				case v.says == "" && err != nil:
					t.Errorf("%s is refused: %v", name, err)
				case v.says != "" && (err == nil || !strings.Contains(err.Error(), v.says)):
					t.Errorf("%s: want %q, got %v", name, v.says, err)
				}
			}
		})
	}
	for _, job := range []*v1alpha1.TrainingJob{simple(), full()} {
		if err := s.client.Create(t.Context(), job, client.DryRunAll); err != nil {
			t.Errorf("a job elsewhere is refused: %v", err)
		}
	}
}

func (s server) namespace(t *testing.T, n corev1.Namespace) {
	t.Helper()
	if err := s.client.Create(t.Context(), &n); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// install a policy, and wait until it refuses what it should.
func (s server) install(t *testing.T, p policy) {
	t.Helper()
	if err := apitest.Install(t.Context(), s.client, "../../"+p.path); err != nil {
		t.Fatal(err)
	}
	refused := p.cases[p.refused]
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			last = s.client.Create(ctx, refused.job(p.namespace.Name), client.DryRunAll)
			return last != nil && strings.Contains(last.Error(), refused.says), nil
		})
	if err != nil {
		t.Fatalf("waiting for %s: %v (last answer: %v)", p.path, err, last)
	}
}

// warned returns a client, and the warnings that the API server sends it.
func (s server) warned(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	received := &warnings{}
	config := rest.CopyConfig(s.config)
	config.WarningHandler = received
	c, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c, received
}

// warnings of the API server, as kubectl prints them.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.text, "\n")
	w.text = nil
	return text
}

func (s server) reportsOff(t *testing.T) {
	s.namespace(t, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trainingjob-system"}})
	if err := apitest.Install(t.Context(), s.client, "../../deploy/operator/warnings.yaml"); err != nil {
		t.Fatal(err)
	}
	c, received := s.warned(t)
	const want = "this installation has no report server"
	warned := func(ctx context.Context, checkpoint *v1alpha1.CheckpointSpec) (string, error) {
		job := simple()
		job.Spec.Checkpoint = checkpoint
		err := c.Create(ctx, job, client.DryRunAll)
		return received.take(), err
	}
	store := &v1alpha1.CheckpointSpec{Storage: v1alpha1.StorageS3, URI: "s3://models/bert"}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			text, err := warned(ctx, store)
			return strings.Contains(text, want), err
		})
	if err != nil {
		t.Fatalf("an object store is not warned of: %v", err)
	}
	off := store.DeepCopy()
	off.Enabled = new(false)
	for name, checkpoint := range map[string]*v1alpha1.CheckpointSpec{
		"none": nil, "a volume": {}, "an object store that is not used": off,
	} {
		if text, err := warned(t.Context(), checkpoint); err != nil || strings.Contains(text, want) {
			t.Errorf("%s: warned with %q, %v", name, text, err)
		}
	}
}
