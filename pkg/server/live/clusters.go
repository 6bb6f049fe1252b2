package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Errors that callers handle differently.
var (
	// ErrUnknownCluster: no cluster of this name is configured.
	ErrUnknownCluster = errors.New("no such cluster")
	// ErrNotSynced: not all jobs of the cluster have been read yet.
	ErrNotSynced = errors.New("the cluster's jobs have not been read yet")
)

// Informers of a cluster, such as a cache.Cache. The caller starts it. Its objects should have no managed
// fields (cache.TransformStripManagedFields), which are unused here.
type Informers interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Clusters holds the jobs of all clusters.
type Clusters struct {
	clusters map[string]*Cluster
	log      logr.Logger
}

// New returns Clusters for informers by cluster name. They have no jobs before Run.
func New(informers map[string]Informers, log logr.Logger) *Clusters {
	all := &Clusters{clusters: map[string]*Cluster{}, log: log}
	for name, from := range informers {
		all.clusters[name] = newCluster(name, from)
	}
	return all
}

// Run follows the jobs until the context ends. It logs the error of a cluster and tries that cluster again.
func (c *Clusters) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, cluster := range c.clusters {
		g.Go(func() error {
			cluster.run(ctx, c.log.WithValues("cluster", cluster.name))
			return nil
		})
	}
	return g.Wait()
}

// View returns a cluster's jobs. Errors: ErrUnknownCluster, ErrNotSynced.
func (c *Clusters) View(cluster string) (View, error) {
	of, known := c.clusters[cluster]
	if !known {
		return View{}, fmt.Errorf("%w: %s", ErrUnknownCluster, cluster)
	}
	return of.view()
}

// Subscribe to the changes of a cluster's jobs that pass the filter, after the position of a View or an
// Event. If that is empty, of another process or too old, the subscription begins with the current jobs. The
// caller must Close it. Errors: ErrUnknownCluster, ErrNotSynced.
func (c *Clusters) Subscribe(cluster string, filter Filter, after string) (*Subscription, error) {
	of, known := c.clusters[cluster]
	if !known {
		return nil, fmt.Errorf("%w: %s", ErrUnknownCluster, cluster)
	}
	return of.subscribe(filter, after)
}

// Synced reports whether all jobs of a cluster have been read.
func (c *Clusters) Synced(cluster string) bool {
	of, known := c.clusters[cluster]
	return known && of.synced.Load()
}

// Delays between attempts to follow an unreachable cluster.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = 5 * time.Second
)

// run follows a cluster, however long it is unreachable.
func (c *Cluster) run(ctx context.Context, log logr.Logger) {
	defer c.closeAll()
	failures := 0
	delays := wait.Backoff{Duration: firstDelay, Factor: 2, Cap: longestDelay, Steps: math.MaxInt32}
	_ = delays.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := c.follow(ctx)
		if err == nil || ctx.Err() != nil {
			return true, nil
		}
		if failures++; failures == 1 || failures%12 == 0 { // once a minute at the longest delay
			log.Error(err, "Failed to follow a cluster; retrying", "failures", failures)
		}
		return false, nil
	}) // only the end of the context ends it
	<-ctx.Done()
}

// follow registers the handler once, and waits until it has received all jobs.
func (c *Cluster) follow(ctx context.Context) error {
	informer, err := c.informers.GetInformer(ctx, &v1alpha1.TrainingJob{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("following TrainingJobs (is deploy/crd installed there?): %w", err)
	}
	registration, err := informer.AddEventHandler(c.handler())
	if err != nil {
		return fmt.Errorf("following TrainingJobs: %w", err)
	}
	select {
	case <-registration.HasSyncedChecker().Done():
		c.synced.Store(true)
	case <-ctx.Done():
	}
	return nil
}

// handler of the informer's events. It never blocks.
func (c *Cluster) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if job, ok := o.(*v1alpha1.TrainingJob); ok {
				c.set(job)
			}
		},
		UpdateFunc: func(_, o any) {
			if job, ok := o.(*v1alpha1.TrainingJob); ok {
				c.set(job)
			}
		},
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			if job, ok := o.(*v1alpha1.TrainingJob); ok {
				c.remove(job)
			}
		},
	}
}
