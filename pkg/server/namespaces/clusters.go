package namespaces

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Cache of a cluster's objects. The caller starts it.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Clusters follows the namespaces of all clusters. Its methods are safe for concurrent use.
type Clusters struct {
	clusters map[string]*Cluster
	log      logr.Logger
}

// New returns Clusters for caches by cluster name. They know no namespaces before Run.
func New(caches map[string]Cache, log logr.Logger) *Clusters {
	all := &Clusters{clusters: map[string]*Cluster{}, log: log}
	for name, from := range caches {
		all.clusters[name] = &Cluster{cache: from}
	}
	return all
}

// Run follows the namespaces until the context ends. It logs the error of a cluster and tries that cluster
// again.
func (c *Clusters) Run(ctx context.Context) error {
	var g errgroup.Group
	for name, cluster := range c.clusters {
		g.Go(func() error {
			cluster.run(ctx, c.log.WithValues("cluster", name))
			return nil
		})
	}
	return g.Wait()
}

// Of returns the namespaces of a cluster; of an unknown cluster no namespaces are known.
func (c *Clusters) Of(cluster string) *Cluster {
	if found := c.clusters[cluster]; found != nil {
		return found
	}
	return &Cluster{}
}

// Known reports whether the namespaces of a cluster have been listed.
func (c *Clusters) Known(cluster string) bool { return c.Of(cluster).Known() }

// Get returns a namespace of a cluster, or false if it does not exist.
func (c *Clusters) Get(cluster, name string) (history.Namespace, bool) {
	found := c.Of(cluster).get(name)
	if found == nil {
		return history.Namespace{}, false
	}
	return history.Namespace{Name: name, UID: found.UID, Created: found.CreationTimestamp.UTC()}, true
}

// Cluster has the namespaces of one cluster.
type Cluster struct {
	cache Cache
	known atomic.Bool
}

// Delays between attempts to follow an unreachable cluster, as in package live.
const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = 5 * time.Second
)

func (c *Cluster) run(ctx context.Context, log logr.Logger) {
	failures := 0
	delays := wait.Backoff{Duration: firstDelay, Factor: 2, Cap: longestDelay, Steps: math.MaxInt32}
	_ = delays.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		informer, err := c.cache.GetInformer(ctx, metadata(), cache.BlockUntilSynced(false))
		if err != nil {
			if failures++; failures == 1 || failures%12 == 0 { // once a minute at the longest delay
				log.Error(err, "Failed to follow the namespaces; retrying", "failures", failures)
			}
			return false, nil
		}
		if !informer.HasSynced() {
			return false, nil
		}
		c.known.Store(true)
		return true, nil
	}) // only the end of the context ends it
}

func metadata() *metav1.PartialObjectMetadata {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return namespace
}

// Known reports whether the namespaces have been listed.
func (c *Cluster) Known() bool { return c.known.Load() }

// get returns a namespace; nil if it does not exist, or the namespaces are unknown.
func (c *Cluster) get(name string) *metav1.PartialObjectMetadata {
	if !c.Known() {
		return nil
	}
	found := metadata()
	// From memory: the only error is that the namespace does not exist.
	if err := c.cache.Get(context.Background(), types.NamespacedName{Name: name}, found); err != nil {
		return nil
	}
	return found
}

// UIDOf returns the UID of a job's namespace, or "" if it is unknown.
func (c *Cluster) UIDOf(job *v1alpha1.TrainingJob) types.UID {
	found := c.get(job.Namespace)
	if found == nil || job.CreationTimestamp.Before(&found.CreationTimestamp) {
		return ""
	}
	if deleted := found.DeletionTimestamp; deleted != nil && !job.CreationTimestamp.Before(deleted) {
		return "" // perhaps it is in the next one with the name
	}
	return found.UID
}
