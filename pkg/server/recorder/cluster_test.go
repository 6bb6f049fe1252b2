//go:build cluster

package recorder

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const product = "nvidia.com/gpu.product"

var control *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	c, err := harness.Start(context.Background(), harness.Options{Root: "../../.."})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	control = c
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// replica of a recorder with a cache and a client of its own, on the real API server.
func replica(t *testing.T, s Store, change func(*Options)) *Recorder {
	t.Helper()
	at := control.RESTConfig()
	at.QPS = -1
	options := CacheOptions()
	options.Scheme = control.Client.Scheme()
	watched, err := cache.New(at, options)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(at, client.Options{Scheme: options.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Cluster: cluster, Store: s, Cache: watched, Client: c, GPUKindLabels: []string{product},
		Log: funcr.New(func(_, args string) { t.Errorf("it complains: %s", args) }, funcr.Options{}),
	}
	change(&o)
	r := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- watched.Start(ctx) }()
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return r
}

// TestTwoReplicas share a store: each job gets the finalizer by one write, keeps that of other controllers,
// and goes once it is recorded, with the kind of GPU that its node had.
func TestTwoReplicas(t *testing.T) {
	n := control.NewNamespace(t, v1alpha1.SchedulerNative, 0)
	n.AddNode(n.Name, map[string]string{product: "H100"},
		corev1.Taint{Key: harness.Pool, Value: n.Name, Effect: corev1.TaintEffectNoSchedule})
	s := &fakeStore{}
	on := func(o *Options) { o.Finalizer = true }
	replicas := []*Recorder{replica(t, s, on), replica(t, s, on)}
	const jobs = 30
	var all []*v1alpha1.TrainingJob
	for i := range jobs {
		j := n.Gang(fmt.Sprintf("job-%d", i), 2, "1", func(j *v1alpha1.TrainingJob) {
			j.Finalizers = []string{"example.com/other"}
		})
		n.Create(j)
		before := j.DeepCopy()
		j.Status.Phase, j.Status.Attempt, j.Status.GPUs = v1alpha1.PhaseRunning, 1, 2
		j.Status.AllocatedNodes = []string{n.Name}
		if err := n.Client.Status().Patch(t.Context(), j, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	for _, j := range all {
		n.Until(j.Name+" has the finalizer", func(ctx context.Context) (string, error) {
			err := n.Client.Get(ctx, client.ObjectKeyFromObject(j), j)
			if len(j.Finalizers) == 2 && hasFinalizer(&j.ObjectMeta) {
				return "", err
			}
			return fmt.Sprint(j.Finalizers), err
		})
	}
	n.Until("both have seen all", func(context.Context) (string, error) {
		if replicas[0].Synced() && replicas[1].Synced() {
			return "", nil
		}
		return "not synced", nil
	})
	for _, j := range all {
		n.Delete(j)
	}
	for _, j := range all {
		recorded(n, s, j)
		dropOther(n, j)
		n.Until(j.Name+" is gone", func(ctx context.Context) (string, error) {
			err := n.Client.Get(ctx, client.ObjectKeyFromObject(j), &v1alpha1.TrainingJob{})
			if err == nil {
				return "it is there", nil
			}
			return "", client.IgnoreNotFound(err)
		})
	}
}

// recorded waits until a deleted job has lost our finalizer, and checks what is in the history then.
func recorded(n *harness.Namespace, s *fakeStore, j *v1alpha1.TrainingJob) {
	n.T.Helper()
	n.Until(j.Name+" has lost the finalizer", func(ctx context.Context) (string, error) {
		err := n.Client.Get(ctx, client.ObjectKeyFromObject(j), j)
		if hasFinalizer(&j.ObjectMeta) || j.DeletionTimestamp == nil {
			return fmt.Sprint(j.Finalizers), err
		}
		return "", err
	})
	r := s.record(j.UID)
	if r.Job.Deleted == nil || !r.Job.Deleted.Equal(j.DeletionTimestamp.Time) || r.Job.GPUKind != "H100" {
		n.T.Errorf("%s: deleted at %v, on %q", j.Name, r.Job.Deleted, r.Job.GPUKind)
	}
	var owners int
	for _, m := range j.ManagedFields {
		if m.Manager == Finalizer && m.Operation == metav1.ManagedFieldsOperationApply {
			owners++
		}
	}
	if owners > 1 {
		n.T.Errorf("%s has %d applies of the finalizer", j.Name, owners)
	}
}

func dropOther(n *harness.Namespace, j *v1alpha1.TrainingJob) {
	n.T.Helper()
	err := n.Client.Patch(n.T.Context(), j, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`)))
	if err != nil {
		n.T.Fatal(err)
	}
}
