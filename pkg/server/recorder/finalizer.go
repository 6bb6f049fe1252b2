package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Finalizer keeps a deleted job until its history is written. It is also the field owner.
const Finalizer = "mlplatform.example.com/history"

var jobKind = v1alpha1.GroupVersion.WithKind("TrainingJob")

// finalizers adds and removes our finalizer. Any number of replicas can do the same work.
type finalizers struct {
	Options
	metrics *metrics
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu sync.Mutex
	// last written version of each deleted job.
	last map[types.NamespacedName]version
}

// workers is the number of concurrent changes.
const workers = 4

func newFinalizers(o Options, m *metrics) *finalizers {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
		time.Second, 5*time.Minute)
	return &finalizers{
		Options: o, metrics: m, last: map[types.NamespacedName]version{},
		queue: workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// action on a job's finalizer.
type action string

const (
	leave  action = ""
	add    action = "add"
	remove action = "remove"
)

// actionFor returns the action for a job. written is the version in the history, if the job is deleted.
func actionFor(job *metav1.ObjectMeta, enabled bool, written string) action {
	has := hasFinalizer(job)
	switch {
	case !enabled && has:
		return remove
	case !enabled:
		return leave
	case job.DeletionTimestamp == nil && !has:
		return add
	case job.DeletionTimestamp != nil && has && job.ResourceVersion == written:
		return remove
	}
	return leave
}

// saw queues a version of a job.
func (f *finalizers) saw(job *v1alpha1.TrainingJob) {
	if actionFor(&job.ObjectMeta, f.Finalizer, "") != leave {
		f.queue.Add(client.ObjectKeyFromObject(job))
	}
}

// written records that the history has a version of a deleted job with our finalizer.
func (f *finalizers) written(v version) {
	key := types.NamespacedName{Namespace: v.namespace, Name: v.name}
	f.mu.Lock()
	f.last[key] = v
	f.mu.Unlock()
	f.queue.Add(key)
}

// gone removes a job.
func (f *finalizers) gone(job *v1alpha1.TrainingJob) { f.queue.Add(client.ObjectKeyFromObject(job)) }

// lastWritten returns the written version of a deleted job; empty if there is none.
func (f *finalizers) lastWritten(key types.NamespacedName, uid types.UID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.last[key]; v.uid == uid {
		return v.resourceVersion
	}
	delete(f.last, key)
	return ""
}

// run runs until the context ends.
func (f *finalizers) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, f.queue.ShutDown)
	defer stop()
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for f.next(ctx) {
			}
		})
	}
	wait.Wait()
}

// next handles a job of the queue. It returns false when the queue has shut down.
func (f *finalizers) next(ctx context.Context) bool {
	key, ended := f.queue.Get()
	if ended {
		return false
	}
	defer f.queue.Done(key)
	err := f.act(ctx, key)
	if err == nil || ctx.Err() != nil {
		f.queue.Forget(key)
		return true
	}
	f.metrics.finalizerFailures.Inc()
	f.Log.Error(err, "Retrying", "cluster", f.Cluster, "job", key)
	f.queue.AddRateLimited(key)
	return true
}

// act on a job in the cache. If the job has changed, its next version arrives as an event.
func (f *finalizers) act(ctx context.Context, key types.NamespacedName) error {
	job := &v1alpha1.TrainingJob{}
	err := f.Cache.Get(ctx, key, job)
	written := f.lastWritten(key, job.UID) // removes a deleted job
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	do := actionFor(&job.ObjectMeta, f.Finalizer, written)
	switch do {
	case leave:
		return nil
	case add:
		err = f.add(ctx, job)
	case remove:
		err = f.remove(ctx, job)
	}
	switch {
	case err == nil:
		f.metrics.finalizers.WithLabelValues(string(do)).Inc()
		return nil
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s the finalizer %s (deploy/server/finalizer.yaml grants the right): %w", do,
			Finalizer, err)
	}
	return fmt.Errorf("%s the finalizer %s: %w", do, Finalizer, err)
}

// add applies only our finalizer, so others keep theirs. Because of the UID the apply never creates a deleted
// job again; a job with a deletion timestamp accepts no new finalizer.
func (f *finalizers) add(ctx context.Context, job *v1alpha1.TrainingJob) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(jobKind)
	u.SetNamespace(job.Namespace)
	u.SetName(job.Name)
	u.SetUID(job.UID)
	u.SetFinalizers([]string{Finalizer})
	return f.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(Finalizer),
		client.ForceOwnership)
}

// remove removes it from the version that was read, for any field owner.
func (f *finalizers) remove(ctx context.Context, job *v1alpha1.TrainingJob) error {
	others := slices.DeleteFunc(slices.Clone(job.Finalizers), func(n string) bool { return n == Finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": job.UID, "resourceVersion": job.ResourceVersion, "finalizers": others,
	}})
	if err != nil {
		return err
	}
	target := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: job.Name,
	}}
	target.SetGroupVersionKind(jobKind)
	return f.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(Finalizer))
}
