package reportserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
)

// fakeCache is the manager's caches.
type fakeCache struct {
	mu       sync.Mutex
	objects  map[string]client.Object
	informer *controllertest.FakeInformer
	broken   error
	reads    int
}

func keyOf(o any, namespace, name string) string { return fmt.Sprintf("%T %s/%s", o, namespace, name) }

func (c *fakeCache) put(o client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[keyOf(o, o.GetNamespace(), o.GetName())] = o
}

func (c *fakeCache) drop(o client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, keyOf(o, o.GetNamespace(), o.GetName()))
}

func (c *fakeCache) find(pointer any, name string) client.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[strings.TrimPrefix(keyOf(pointer, "team-a", name), "*")]
}

func (c *fakeCache) Get(_ context.Context, key client.ObjectKey, into client.Object,
	_ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	if c.broken != nil {
		return c.broken
	}
	found, ok := c.objects[keyOf(into, key.Namespace, key.Name)]
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

func (c *fakeCache) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("a report must not list")
}

func (c *fakeCache) GetInformer(
	context.Context, client.Object, ...cache.InformerGetOption,
) (cache.Informer, error) {
	return c.informer, nil
}

// fakeTokenReviews is the API server: it accepts a token when one of the token's audiences is asked for.
type fakeTokenReviews struct {
	mu     sync.Mutex
	tokens map[string]authenticationv1.TokenReviewStatus
	asked  int
	broken error
	// hold, if set, delays every answer until it is closed.
	hold chan struct{}
}

// give issues a token that is bound to a pod.
func (r *fakeTokenReviews) give(token string, pod *corev1.Pod) {
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

func (r *fakeTokenReviews) set(token string, s authenticationv1.TokenReviewStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[token] = s
}

func (r *fakeTokenReviews) change(token string, do func(*authenticationv1.TokenReviewStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.tokens[token]
	do(&s)
	r.tokens[token] = s
}

func (r *fakeTokenReviews) questions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *fakeTokenReviews) Create(_ context.Context, review *authenticationv1.TokenReview,
	_ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
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
	if len(known.Audiences) == 0 || slices.ContainsFunc(known.Audiences,
		func(a string) bool { return slices.Contains(review.Spec.Audiences, a) }) {
		out.Status = known
	}
	return out, nil
}
