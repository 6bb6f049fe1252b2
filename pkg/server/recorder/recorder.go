package recorder

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Store keeps records.
type Store interface {
	// Record merges records into the stored ones, all or none.
	Record(ctx context.Context, records []history.Record) error
	// Writable returns an error if the store takes no writes.
	Writable(ctx context.Context) error
	// Unfinished calls fn with every job of a cluster that is not known to be deleted.
	Unfinished(ctx context.Context, cluster string,
		fn func(key history.Key, namespace, name string) error) error
}

// Cache of a cluster's TrainingJobs and of the metadata of its nodes.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Namespaces of a cluster.
type Namespaces interface {
	// Known reports whether they have been listed.
	Known() bool
	// UIDOf returns the UID of a job's namespace, or "" if it is unknown.
	UIDOf(job *v1alpha1.TrainingJob) types.UID
}

// Options of a Recorder. All are required unless noted.
type Options struct {
	// Cluster is its name in the history.
	Cluster string
	Store   Store
	// Cache is started by the caller, with CacheOptions.
	Cache Cache
	// Client bypasses the cache and writes the finalizers.
	Client client.Client
	// Finalizer is added to jobs until their deletion is written; otherwise it is removed from them.
	Finalizer bool
	// GPUKindLabels of nodes with the GPU product; the first that a node has counts. Without any, no nodes
	// are read.
	GPUKindLabels []string
	// GPUs are the resources that count as GPUs, as in the operator. None means the default ones.
	GPUs framework.GPUs
	// Namespaces of the cluster. Optional: without them the UIDs of namespaces are unknown.
	Namespaces Namespaces
	// UserKeys are the annotations and labels with the user of a job.
	UserKeys []string
	// Log of failures.
	Log logr.Logger
	// Clock defaults to the machine's.
	Clock clock.WithTicker
	// KeptBytes bounds the memory of unwritten versions, by an estimate. Default: 64 MiB.
	KeptBytes int
}

const (
	defaultKeptBytes = 64 << 20
	// firstDelay and longestDelay between retries while the store takes no writes.
	firstDelay   = 100 * time.Millisecond
	longestDelay = 5 * time.Second
	// namespacesPatience is how long recording waits for the namespaces.
	namespacesPatience = 10 * time.Second
)

// Recorder writes the history of the jobs of one cluster.
type Recorder struct {
	Options
	pending    *pending
	finalizers *finalizers
	metrics    *metrics
	synced     atomic.Bool
	// rejections limits the log lines about them.
	rejections rate.Sometimes
	// nodesRead is false until the nodes' labels are in memory: before that the cache would block.
	nodesRead atomic.Bool
}

// New returns a Recorder, which does nothing until Run.
func New(o Options) *Recorder {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.KeptBytes == 0 {
		o.KeptBytes = defaultKeptBytes
	}
	r := &Recorder{
		Options: o, metrics: newMetrics(), rejections: rate.Sometimes{First: 10, Interval: time.Second},
	}
	r.pending = newPending(o.KeptBytes, r.metrics, o.Clock.Now)
	r.finalizers = newFinalizers(o, r.metrics)
	return r
}

// Run records until the context ends. It then writes what is pending within a few seconds; the rest is
// recorded after the next start, except the exact time of a deletion. Errors of the cluster or the store are
// logged, counted and retried.
func (r *Recorder) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { return r.untilDone(ctx, "following the jobs", r.follow) })
	g.Go(func() error { r.write(ctx); return nil })
	g.Go(func() error { r.finalizers.run(ctx); return nil })
	return g.Wait()
}

// Synced reports whether all jobs of the cluster are listed, including those that were deleted while no
// server was running.
func (r *Recorder) Synced() bool { return r.synced.Load() }

// Pending returns the number of jobs with unwritten changes.
func (r *Recorder) Pending() int { return r.pending.len() }

// follow subscribes to the jobs, waits until all are listed, and looks for deleted ones. It is called again
// after an error; a handler is registered once.
func (r *Recorder) follow(ctx context.Context) error {
	if len(r.GPUKindLabels) > 0 { // before the jobs, whose kinds depend on the nodes
		nodes, err := r.Cache.GetInformer(ctx, nodeMetadata(), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("following the nodes (deploy/server/role.yaml has the rights; with "+
				"gpuKindLabels: [] none are needed): %w", err)
		}
		if err := r.await(ctx, nodes.HasSynced); err != nil {
			return err
		}
		r.nodesRead.Store(true)
	}
	if err := r.awaitNamespaces(ctx); err != nil {
		return err
	}
	jobs, err := r.Cache.GetInformer(ctx, &v1alpha1.TrainingJob{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("following TrainingJobs (is deploy/crd installed there?): %w", err)
	}
	registration, err := jobs.AddEventHandler(r.handler())
	if err != nil {
		return fmt.Errorf("following TrainingJobs: %w", err)
	}
	if err := r.await(ctx, registration.HasSynced); err != nil {
		return err
	}
	return r.untilDone(ctx, "looking for deleted jobs", func(ctx context.Context) error {
		if err := r.recordGone(ctx); err != nil {
			return err
		}
		r.synced.Store(true)
		return nil
	})
}

// awaitNamespaces waits until the namespaces are listed, but not for long: without the right to list them,
// jobs are recorded without their UIDs.
func (r *Recorder) awaitNamespaces(ctx context.Context) error {
	if r.Namespaces == nil {
		return nil
	}
	start := r.Clock.Now()
	err := r.await(ctx, func() bool {
		return r.Namespaces.Known() || r.Clock.Since(start) >= namespacesPatience
	})
	if err == nil && !r.Namespaces.Known() {
		r.Log.Info("The namespaces are not listed: jobs are recorded without the UIDs of their namespaces "+
			"(deploy/server/role.yaml has the right)", "cluster", r.Cluster)
	}
	return err
}

// await polls, because an informer has no channel to wait on.
func (r *Recorder) await(ctx context.Context, is func() bool) error {
	ticker := r.Clock.NewTicker(firstDelay)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
		}
	}
	return nil
}

// untilDone retries a function until it succeeds or the context ends, with growing delays.
func (r *Recorder) untilDone(ctx context.Context, what string, do func(context.Context) error) error {
	for failures := 0; ; {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		failures++
		r.complain(err, what, failures)
		if !r.pause(ctx, failures) {
			return nil
		}
	}
}

// complain logs the first of many failures, and every twelfth: once a minute at the longest delay.
func (r *Recorder) complain(err error, what string, failures int) {
	if failures == 1 || failures%12 == 0 {
		r.Log.Error(err, "Retrying", "while", what, "cluster", r.Cluster, "failures", failures)
	}
}

// pause returns false if the context ends first.
func (r *Recorder) pause(ctx context.Context, failures int) bool {
	delay := longestDelay
	if shift := failures - 1; shift < 6 {
		delay = min(delay, firstDelay<<shift)
	}
	timer := r.Clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
