package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

const cluster = "east"

// fakeStore joins records in memory. It can be away, and reject some jobs.
type fakeStore struct {
	mu      sync.Mutex
	away    bool
	rejects func(history.Record) bool
	records map[types.UID]history.Record
	writes  int
	// calls of Record, and the number of the one that wrote a job first.
	calls int
	wrote map[types.UID]int
}

var errAway = errors.New("connection refused")

func (s *fakeStore) Record(_ context.Context, records []history.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.away {
		return errAway
	}
	for _, r := range records {
		if s.rejects != nil && s.rejects(r) {
			return errors.New("invalid byte sequence")
		}
	}
	for _, r := range records {
		if known, ok := s.records[r.Job.UID]; ok {
			r = history.Merge(known, r)
		}
		if s.records == nil {
			s.records, s.wrote = map[types.UID]history.Record{}, map[types.UID]int{}
		}
		if _, before := s.wrote[r.Job.UID]; !before {
			s.wrote[r.Job.UID] = s.calls
		}
		s.records[r.Job.UID] = r
		s.writes++
	}
	return nil
}

func (s *fakeStore) Writable(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	return nil
}

func (s *fakeStore) Unfinished(
	_ context.Context, _ string, fn func(history.Key, string, string) error,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	for _, r := range s.records {
		if r.Job.Deleted == nil && r.Job.DeletedBefore == nil {
			if err := fn(r.Job.Key, r.Job.Namespace, r.Job.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *fakeStore) set(change func(*fakeStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *fakeStore) record(uid types.UID) history.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[uid]
}

// fakeCache has real informers, which watch sources that the test changes.
type fakeCache struct {
	jobSource, nodeSource *fcache.FakeControllerSource
	jobs, nodes           toolscache.SharedIndexInformer
}

func newFakeCache(t *testing.T) *fakeCache {
	c := &fakeCache{
		jobSource: fcache.NewFakeControllerSource(), nodeSource: fcache.NewFakeControllerSource(),
	}
	c.jobs = toolscache.NewSharedIndexInformer(c.jobSource, &v1alpha1.TrainingJob{}, 0, nil)
	c.nodes = toolscache.NewSharedIndexInformer(c.nodeSource, nodeMetadata(), 0, nil)
	for _, informer := range []toolscache.SharedIndexInformer{c.jobs, c.nodes} {
		go informer.RunWithContext(t.Context())
	}
	return c
}

func (c *fakeCache) GetInformer(
	_ context.Context, obj client.Object, _ ...cache.InformerGetOption,
) (cache.Informer, error) {
	if _, is := obj.(*v1alpha1.TrainingJob); is {
		return c.jobs, nil
	}
	return c.nodes, nil
}

func (c *fakeCache) Get(
	_ context.Context, key types.NamespacedName, into client.Object, _ ...client.GetOption,
) error {
	informer, name := c.jobs, key.String()
	if key.Namespace == "" {
		informer, name = c.nodes, key.Name
	}
	found, is, err := informer.GetStore().GetByKey(name)
	if err != nil || !is {
		return apierrors.NewNotFound(schema.GroupResource{}, name)
	}
	switch into := into.(type) {
	case *v1alpha1.TrainingJob:
		found.(*v1alpha1.TrainingJob).DeepCopyInto(into)
	case *metav1.PartialObjectMetadata:
		found.(*metav1.PartialObjectMetadata).DeepCopyInto(into)
	}
	return nil
}

func (c *fakeCache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	for _, o := range c.jobs.GetStore().List() {
		list := into.(*v1alpha1.TrainingJobList)
		list.Items = append(list.Items, *o.(*v1alpha1.TrainingJob))
	}
	return nil
}

// fakeClient is the API server itself: it knows what there really is, and records what is written.
type fakeClient struct {
	client.Client
	mu     sync.Mutex
	jobs   map[string]types.UID
	broken error
	asks   int
	writes []string
}

func (c *fakeClient) Get(
	_ context.Context, key types.NamespacedName, into client.Object, _ ...client.GetOption,
) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks++
	if c.broken != nil {
		return c.broken
	}
	uid, ok := c.jobs[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "trainingjobs"}, key.Name)
	}
	into.SetUID(uid)
	return nil
}

func (c *fakeClient) Patch(
	_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption,
) error {
	data, err := patch.Data(o)
	c.wrote(fmt.Sprintf("patch %s %s", o.GetName(), data))
	return err
}

func (c *fakeClient) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	u := o.(metav1.Object)
	c.wrote(fmt.Sprintf("apply %s %s %s", u.GetName(), u.GetUID(), u.GetFinalizers()))
	return nil
}

func (c *fakeClient) wrote(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, what)
}

func (c *fakeClient) set(change func(*fakeClient)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *fakeClient) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asks
}

func (c *fakeClient) written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.writes...)
}

// fixture is a cluster, a store, and a recorder between them.
type fixture struct {
	t     *testing.T
	cache *fakeCache
	api   *fakeClient
	store *fakeStore
	*Recorder
	stop func()
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, cache: newFakeCache(t), api: &fakeClient{}, store: &fakeStore{}}
	o := Options{
		Cluster: cluster, Store: f.store, Cache: f.cache, Client: f.api, Log: logr.Discard(),
		GPUKindLabels: []string{"nvidia.com/gpu.product"},
	}
	for _, c := range change {
		c(&o)
	}
	f.Recorder = New(o)
	return f
}

// start recording; stop, or the end of the test, ends it.
func (f *fixture) start() *fixture {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
	})
	f.t.Cleanup(f.stop)
	return f
}

// synced waits until the recorder is.
func (f *fixture) synced() *fixture {
	f.t.Helper()
	f.eventually("it is synced", f.Synced)
	return f
}

func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(f.t.Context(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		f.t.Fatalf("waiting until %s: %v", what, err)
	}
}

// job at a step of its training, each of which has a checkpoint.
func job(name string, step int64, change ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	at := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, int(step%60), 0, time.UTC))
	j := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: name, UID: types.UID(name + "-uid"),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)),
		},
		Status: v1alpha1.TrainingJobStatus{
			Phase: v1alpha1.PhaseRunning, Attempt: 1,
			Checkpoint: &v1alpha1.CheckpointStatus{Latest: &v1alpha1.CheckpointPoint{
				URI: fmt.Sprintf("pvc://a/step-%d", step), Step: step, Time: &at,
			}},
		},
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func steps(r history.Record) []int64 {
	var all []int64
	for _, c := range r.Checkpoints {
		all = append(all, c.Step)
	}
	return all
}
