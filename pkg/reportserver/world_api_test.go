package reportserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

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
