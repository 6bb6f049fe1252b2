//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// Every scheduler has the same number of nodes and GPUs.
const (
	nodeCount   = 4
	gpusPerNode = 8
)

// poolLabel has the name of a node's pool. Ranks run on the nodes of one pool alone (see podTemplate).
const poolLabel = "conformance.mlplatform.example.com/pool"

// fewPools is how many scenarios play on fakes at a time. They mostly wait, so there are more than
// processors. Gangs that hang wait for minutes.
const fewPools, manyPools = 6, 24

// mostPools returns how many pools the run has at most.
func mostPools() int {
	if *hangsInFull {
		return manyPools
	}
	return fewPools
}

// nodePool is a set of nodes that one scenario at a time uses.
type nodePool struct {
	pool string
	// nodes maps their names to their GPUs.
	nodes map[string]int64
}

// realPool has the nodes on which a real scheduler places ranks. The lock is for its user: a real scheduler
// plays one scenario at a time, while the others play theirs.
type realPool struct {
	sync.Mutex
	name string
	made nodePool
}

// get the nodes, and make them at the first call. The caller has the lock.
func (p *realPool) get(ctx context.Context, cluster *testCluster) (nodePool, error) {
	if p.made.pool != "" {
		return p.made, nil
	}
	made, err := newPool(ctx, cluster, p.name)
	if err == nil {
		p.made = made
	}
	return made, err
}

// realPools has a pool for each real scheduler of a cluster.
type realPools struct {
	mu    sync.Mutex
	pools map[string]*realPool
}

func (r *realPools) of(d *dialect) *realPool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pools == nil {
		r.pools = map[string]*realPool{}
	}
	if r.pools[d.name] == nil {
		r.pools[d.name] = &realPool{name: d.name}
	}
	return r.pools[d.name]
}

// takeTurn waits until the nodes of a real scheduler are free, and returns the function that releases them.
// Scenarios on the fake wait for a pool when they begin (nodePools).
func (c *testCluster) takeTurn(d *dialect) (release func()) {
	if d.behavior != nil {
		return func() {}
	}
	pool := c.realPools.of(d)
	pool.Lock()
	return pool.Unlock
}

// nodePools are sets of nodes on which fake schedulers work in parallel. Each sees one pool and one
// namespace.
type nodePools struct {
	free chan nodePool

	mu sync.Mutex
	// named counts the pools that were begun, and usable those that were not given up since.
	named, usable int
}

// take a pool; make one if none is free and there are not yet mostPools, else wait. The caller puts it back
// once every pod is deleted.
func (c *nodePools) take(ctx context.Context, cluster *testCluster) (nodePool, error) {
	number, ok := c.begin()
	if !ok {
		select {
		case pool := <-c.free:
			return pool, nil
		case <-ctx.Done():
			return nodePool{}, fmt.Errorf("waiting for a pool of nodes: %w", context.Cause(ctx))
		}
	}
	pool, err := newPool(ctx, cluster, strconv.Itoa(number))
	if err != nil {
		c.mu.Lock()
		c.usable--
		c.mu.Unlock()
	}
	return pool, err
}

// begin a new pool, and return its number.
func (c *nodePools) begin() (number int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) > 0 || c.usable == mostPools() {
		return 0, false
	}
	c.named++
	c.usable++
	return c.named, true
}

func newPool(ctx context.Context, cluster *testCluster, name string) (nodePool, error) {
	p := nodePool{name, map[string]int64{}}
	for i := range nodeCount {
		node := poolNode(fmt.Sprintf("pool-%s-node-%d", name, i), name)
		p.nodes[node.Name] = gpusPerNode
		if err := cluster.client.Create(ctx, node); err != nil {
			return p, err
		}
	}
	return p, waitForNodes(ctx, cluster, p.nodes)
}

func (c *nodePools) put(pool nodePool) { c.free <- pool }

func poolNode(name, pool string) *corev1.Node {
	capacity := corev1.ResourceList{
		GPU:                   *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
		corev1.ResourceCPU:    resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{poolLabel: pool},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, // KWOK simulates its kubelet
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// waitForNodes waits until they are Ready and have lost the not-ready taint that every new node has.
func waitForNodes(ctx context.Context, cluster *testCluster, names map[string]int64) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for name := range names {
			node := &corev1.Node{}
			if err := cluster.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
				return false, err
			}
			ready := false
			for _, c := range node.Status.Conditions {
				ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}
			if !ready || len(node.Spec.Taints) > 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

// poolClient shows a fake scheduler only its own nodes and its own namespace.
type poolClient struct {
	client.Client
	namespace, pool string
}

func (c poolClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch list.(type) {
	case *corev1.NodeList:
		opts = append(opts, client.MatchingLabels{poolLabel: c.pool})
	case *corev1.PodList, *unstructured.UnstructuredList:
		opts = append(opts, client.InNamespace(c.namespace))
	}
	return c.Client.List(ctx, list, opts...)
}

// The fake scheduler steps after each change, at most every fakeRest, and at least every fakeIdle because
// nodes are not watched.
const (
	fakeRest = 25 * time.Millisecond
	fakeIdle = time.Second
)

// runFake calls Step until the context ends.
func runFake(ctx context.Context, s *fakescheduler.Scheduler, r *recorder) {
	for ctx.Err() == nil {
		changed := r.next()
		if _, err := s.Step(ctx); err != nil && ctx.Err() == nil {
			r.remark("the fake scheduler: %v", err)
		}
		idle, cancel := context.WithTimeout(ctx, fakeIdle)
		select {
		case <-changed:
		case <-idle.Done():
		}
		cancel()
		rest, cancel := context.WithTimeout(ctx, fakeRest)
		<-rest.Done()
		cancel()
	}
}
