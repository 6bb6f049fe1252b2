package simtrainer

import (
	"context"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Indexes of the simulated pods.
const (
	indexGang = "gang"
	indexNode = "node"
)

// addIndexes adds the indexes that a clusterReader needs.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Pod{}, indexGang, func(o client.Object) []string {
		if gang := gangOf(o.(*corev1.Pod)); gang != "" {
			return []string{gang}
		}
		return nil
	})
	if err == nil {
		err = indexer.IndexField(ctx, &corev1.Pod{}, indexNode, func(o client.Object) []string {
			if pod := o.(*corev1.Pod); isSimulated(pod) && pod.Spec.NodeName != "" {
				return []string{pod.Spec.NodeName}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	return nil
}

// clusterReader answers questions about pods and nodes.
type clusterReader struct {
	// cache holds the simulated pods, indexed, and the leases of dead nodes.
	cache client.Reader
	// nodes are read from the API server, each once.
	nodes client.Reader

	mu   sync.Mutex
	fake map[string]bool
}

func newClusterReader(cache, nodes client.Reader) *clusterReader {
	return &clusterReader{cache: cache, nodes: nodes, fake: map[string]bool{}}
}

// gangPods returns the pods of a gang.
func (c *clusterReader) gangPods(ctx context.Context, gang string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := c.cache.List(ctx, pods, client.MatchingFields{indexGang: gang}); err != nil {
		return nil, fmt.Errorf("listing the ranks of a gang: %w", err)
	}
	return pods.Items, nil
}

// leaderPod returns the pod of a gang's rank 0; nil if it does not exist.
func (c *clusterReader) leaderPod(ctx context.Context, gang string) (*corev1.Pod, error) {
	pods, err := c.gangPods(ctx, gang)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if isLeader(&pods[i]) {
			return &pods[i], nil
		}
	}
	return nil, nil
}

// isIncomplete reports whether a rank of the gang is not running. None can train without it.
func (c *clusterReader) isIncomplete(ctx context.Context, rank Rank) (bool, error) {
	pods, err := c.gangPods(ctx, rank.Gang)
	if err != nil {
		return false, err
	}
	running := int32(0)
	for i := range pods {
		if c.isRunning(ctx, &pods[i]) {
			running++
		}
	}
	return running < rank.WorldSize, nil
}

// isRunning reports whether a pod runs, and on a node that is alive.
func (c *clusterReader) isRunning(ctx context.Context, pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && !c.isDead(ctx, pod.Spec.NodeName)
}

// isDead reports whether a node was killed.
func (c *clusterReader) isDead(ctx context.Context, node string) bool {
	lease := &coordinationv1.Lease{}
	err := c.cache.Get(ctx, types.NamespacedName{Namespace: corev1.NamespaceNodeLease, Name: node}, lease)
	return err == nil && lease.Labels[localcluster.LabelKilled] != ""
}

// isFake reports whether a node is a fake one, that is, whether KWOK simulates it.
func (c *clusterReader) isFake(ctx context.Context, name string) (bool, error) {
	c.mu.Lock()
	fake, known := c.fake[name]
	c.mu.Unlock()
	if known {
		return fake, nil
	}
	node := &corev1.Node{}
	if err := c.nodes.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
		return false, fmt.Errorf("reading node %s: %w", name, err)
	}
	fake = localcluster.IsFake(node)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fake[name] = fake
	return fake, nil
}
