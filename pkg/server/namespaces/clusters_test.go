package namespaces

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// fakeCache has some namespaces, once it is synced.
type fakeCache struct {
	client.Reader
	away, synced atomic.Bool
	all          map[string]metav1.ObjectMeta
}

type fakeInformer struct {
	cache.Informer
	of *fakeCache
}

func (i fakeInformer) HasSynced() bool { return i.of.synced.Load() }

func (c *fakeCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (
	cache.Informer, error,
) {
	if c.away.Load() {
		return nil, errors.New("connection refused")
	}
	return fakeInformer{of: c}, nil
}

func (c *fakeCache) Get(
	_ context.Context, key types.NamespacedName, into client.Object, _ ...client.GetOption,
) error {
	found, exists := c.all[key.Name]
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	}
	into.(*metav1.PartialObjectMetadata).ObjectMeta = found
	return nil
}

var created = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// after is a time, in seconds after the creation of the namespaces.
func after(seconds int) metav1.Time {
	return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
}

// TestUIDOf: a job is attributed only to the namespace that it is in.
func TestUIDOf(t *testing.T) {
	ends := after(10)
	c := &Cluster{cache: &fakeCache{all: map[string]metav1.ObjectMeta{
		"stays": {UID: "stays-uid", CreationTimestamp: after(0)},
		"ends":  {UID: "ends-uid", CreationTimestamp: after(0), DeletionTimestamp: &ends},
	}}}
	c.known.Store(true)
	for name, tc := range map[string]struct {
		reason, namespace string
		created           int
		want              types.UID
	}{
		"in it":          {"", "stays", 5, "stays-uid"},
		"with it":        {"in the same second", "stays", 0, "stays-uid"},
		"older":          {"it was in a former namespace", "stays", -1, ""},
		"before its end": {"", "ends", 5, "ends-uid"},
		"after its end":  {"the cache does not have the next namespace yet", "ends", 11, ""},
		"no such one":    {"", "other", 5, ""},
		"as it ends":     {"it can be in the next one", "ends", 10, ""},
	} {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
			Namespace: tc.namespace, CreationTimestamp: after(tc.created),
		}}
		if got := c.UIDOf(job); got != tc.want {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
}

// TestRun: namespaces are unknown until they are listed, however long that takes, and those of one cluster do
// not wait for another.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := map[string]metav1.ObjectMeta{"a": {UID: "a-uid", CreationTimestamp: after(0)}}
		here, away := &fakeCache{all: all}, &fakeCache{all: all}
		here.synced.Store(true)
		away.away.Store(true)
		c := New(map[string]Cache{"here": here, "away": away}, logr.Discard())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		time.Sleep(time.Minute) // of the bubble
		if got, exists := c.Get("here", "a"); !exists || got.UID != "a-uid" || !got.Created.Equal(created) {
			t.Errorf("%+v, %t", got, exists)
		}
		if _, exists := c.Get("here", "b"); exists || !c.Known("here") {
			t.Error("a namespace that does not exist is there")
		}
		if _, exists := c.Get("away", "a"); exists || c.Known("away") || c.Known("other") {
			t.Error("namespaces that are not listed are known")
		}
		away.away.Store(false)
		away.synced.Store(true)
		time.Sleep(time.Minute)
		if _, exists := c.Get("away", "a"); !exists {
			t.Error("the other cluster is not tried again")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
