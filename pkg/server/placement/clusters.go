package placement

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// ErrUnknownCluster: no cluster of this name is configured.
var ErrUnknownCluster = errors.New("no such cluster")

// Options of Clusters. All are required unless stated otherwise.
type Options struct {
	// Sources of the clusters, by name.
	Sources map[string]Sources
	Counting
	// Log of sources that cannot be followed.
	Log logr.Logger
}

// Clusters tracks the nodes of all clusters. Its methods are safe for concurrent use.
type Clusters struct {
	clusters map[string]*cluster
	sources  map[string]Sources
	log      logr.Logger
}

// New returns Clusters. They are empty until Run.
func New(o Options) *Clusters {
	c := &Clusters{clusters: map[string]*cluster{}, sources: o.Sources, log: o.Log}
	for name := range o.Sources {
		c.clusters[name] = newCluster(name, o.Counting)
	}
	return c
}

// Run follows nodes and pods until the context ends. It logs an error of a cluster, adds it to the Problems
// of the snapshots, and tries again.
func (c *Clusters) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for name, at := range c.clusters {
		log := c.log.WithValues("cluster", name)
		for _, s := range []*sink{at.nodeSink(), at.podSink()} {
			lists := c.sources[name].Pods
			if s.of == &at.ofNodes {
				lists = c.sources[name].Nodes
			}
			from := &watched{
				ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(lists), from: lists,
				record: func(err error) { at.record(s.of, err, log) },
			}
			running.Go(func() {
				// Package placement logs each problem once; the reflector would repeat it.
				quiet := logr.Discard()
				r := toolscache.NewReflectorWithOptions(from, s.example, s,
					toolscache.ReflectorOptions{Name: "placement", Logger: &quiet})
				r.RunWithContext(klog.NewContext(ctx, quiet))
			})
		}
	}
	running.Wait()
	return nil
}

// Snapshot returns the current state of a cluster. The error is ErrUnknownCluster.
func (c *Clusters) Snapshot(cluster string) (*Snapshot, error) {
	at, known := c.clusters[cluster]
	if !known {
		return nil, fmt.Errorf("%w: %s", ErrUnknownCluster, cluster)
	}
	return at.view(), nil
}

// record the result of the last request of a source.
func (c *cluster) record(of *source, err error, log logr.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := of.trouble
	if of.trouble = troubleOf(err); of.trouble == before {
		return
	}
	c.changed()
	switch {
	case err != nil:
		log.Error(err, "Failed to update the map; retrying", "resource", of.what)
	default:
		log.Info("The map is up to date again", "resource", of.what)
	}
}

func (c *cluster) nodeSink() *sink {
	return &sink{
		cluster: c, of: &c.ofNodes, example: &corev1.Node{}, trim: trimNode,
		set:     func(o any) { setIf(o, c.setNode) },
		drop:    func(o any) { setIf(o, func(n *corev1.Node) { c.dropNode(n.Name) }) },
		replace: func(all []any) { c.setNodes(typed[*corev1.Node](all)) },
	}
}

func (c *cluster) podSink() *sink {
	return &sink{
		cluster: c, of: &c.ofPods, example: &corev1.Pod{}, trim: c.counting.trimPod,
		set:     func(o any) { setIf(o, c.setPod) },
		drop:    func(o any) { setIf(o, func(p *corev1.Pod) { c.dropPod(p.UID) }) },
		replace: func(all []any) { c.setPods(typed[*corev1.Pod](all)) },
	}
}
