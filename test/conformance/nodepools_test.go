//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

const (
	poolPrefix = "pool-"
	poolLabel  = "conformance.mlplatform.example.com/pool"
)

// mostPools is how many scenarios play on fakes at a time. They mostly wait, so there are more than
// processors.
const mostPools = 6

// nodePools are sets of nodes on which fake schedulers work in parallel. Each scheduler sees one pool and one
// namespace. A taint keeps real schedulers off the nodes.
type nodePools struct {
	free chan map[string]int64

	mu sync.Mutex
	// named counts the pools that were begun, and usable those that were not given up since.
	named, usable int
}

var sharedPools = &nodePools{free: make(chan map[string]int64, mostPools)}

// take a pool; make one if none is free and there are not yet mostPools, else wait. The caller puts it back
// once every pod is gone.
func (c *nodePools) take(ctx context.Context, cluster *testCluster) (map[string]int64, error) {
	number, ok := c.begin()
	if !ok {
		select {
		case pool := <-c.free:
			return pool, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a pool of nodes: %w", context.Cause(ctx))
		}
	}
	pool, err := newPool(ctx, cluster, number)
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
	if len(c.free) > 0 || c.usable == mostPools {
		return 0, false
	}
	c.named++
	c.usable++
	return c.named, true
}

func newPool(ctx context.Context, cluster *testCluster, number int) (map[string]int64, error) {
	pool := map[string]int64{}
	for i := range nodeCount {
		name := fmt.Sprintf("%s%d-node-%d", poolPrefix, number, i)
		pool[name] = gpusPerNode
		if err := cluster.client.Create(ctx, poolNode(name, number)); err != nil {
			return nil, err
		}
	}
	return pool, waitForNodes(ctx, cluster, pool)
}

func (c *nodePools) put(pool map[string]int64) { c.free <- pool }

func poolNode(name string, pool int) *corev1.Node {
	capacity := corev1.ResourceList{
		GPU:                   *resource.NewQuantity(gpusPerNode, resource.DecimalSI),
		corev1.ResourceCPU:    resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{poolLabel: strconv.Itoa(pool)},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, // KWOK simulates its kubelet
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: poolLabel, Effect: corev1.TaintEffectNoSchedule}}},
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
			if !ready || len(node.Spec.Taints) > 1 {
				return false, nil
			}
		}
		return true, nil
	})
}

// poolOf a node.
func poolOf(node string) string { return strings.Split(strings.TrimPrefix(node, poolPrefix), "-")[0] }

// poolClient shows a fake scheduler only its own nodes, without their taint, and its own namespace.
type poolClient struct {
	client.Client
	namespace string
	nodes     map[string]int64
}

func (c poolClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	switch l := list.(type) {
	case *corev1.NodeList:
		for name := range c.nodes {
			pool := client.MatchingLabels{poolLabel: poolOf(name)}
			if err := c.Client.List(ctx, l, append(opts, pool)...); err != nil {
				return err
			}
			break
		}
		for i := range l.Items {
			l.Items[i].Spec.Taints = nil
		}
		return nil
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
