package placement

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OnNode is a node and its pods. It never changes.
type OnNode struct {
	Node
	// Exists is false for a node that only its pods name: it is deleted, or has not been seen yet.
	Exists bool
	// Pods that are ranks or hold GPUs: ranks by gang, role and index, then the others.
	Pods []Pod
}

// Snapshot is the state of a cluster at one moment. It never changes.
type Snapshot struct {
	// Version rises with each change, within this process.
	Version uint64
	// Nodes by name, including deleted nodes that still have pods.
	Nodes []*OnNode
	// NodesKnown and PodsKnown report whether all of them have been listed at least once.
	NodesKnown, PodsKnown bool
	// Problems with nodes, then with pods: the state is incomplete or old.
	Problems []Problem
	// PodProblems are those of pods alone.
	PodProblems []Problem
}

// cluster tracks the nodes of one cluster and their pods.
type cluster struct {
	name     string
	counting Counting

	mu    sync.Mutex
	nodes map[string]*entry
	// pods map the UID of a pod to the name of its node.
	pods            map[types.UID]string
	ofNodes, ofPods source
	version         uint64
	// snapshot of this version; nil after a change.
	snapshot  *Snapshot
	followers followers
}

// entry of a node. Its pods can come before it and outlive it.
type entry struct {
	node   Node
	exists bool
	pods   map[types.UID]Pod
	// shared is its entry in snapshots; nil after a change.
	shared *OnNode
}

func newCluster(name string, counting Counting) *cluster {
	return &cluster{
		name: name, counting: counting, nodes: map[string]*entry{}, pods: map[types.UID]string{},
		followers: followers{},
		ofNodes:   source{what: "nodes", unknown: "which nodes and how many GPUs there are"},
		ofPods:    source{what: "pods", unknown: "who holds which GPU"},
	}
}

// view returns the current snapshot. Its cost depends only on the changes since the last one.
func (c *cluster) view() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot == nil {
		ofPods := c.ofPods.problems(c.name)
		c.snapshot = &Snapshot{
			Version: c.version, NodesKnown: c.ofNodes.listed, PodsKnown: c.ofPods.listed, Nodes: c.list(),
			Problems: slices.Concat(c.ofNodes.problems(c.name), ofPods), PodProblems: ofPods,
		}
	}
	return c.snapshot
}

// list returns the nodes. The caller of this and of all methods below holds the lock.
func (c *cluster) list() []*OnNode {
	all := make([]*OnNode, 0, len(c.nodes))
	for name, e := range c.nodes {
		if e.shared == nil {
			e.shared = &OnNode{
				Node: e.node, Exists: e.exists, Pods: slices.SortedFunc(maps.Values(e.pods), comparePods),
			}
			e.shared.Name = name
		}
		all = append(all, e.shared)
	}
	slices.SortFunc(all, func(a, b *OnNode) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (c *cluster) changed() {
	c.version++
	c.snapshot = nil
}

func (c *cluster) entry(name string) *entry {
	e := c.nodes[name]
	if e == nil {
		e = &entry{pods: map[types.UID]Pod{}}
		c.nodes[name] = e
	}
	e.shared = nil
	c.changed()
	return e
}

func (c *cluster) setNode(n *corev1.Node) {
	node := c.counting.nodeOf(n)
	if e := c.nodes[n.Name]; e != nil && e.exists && e.node == node {
		return // most updates are periodic reports of the kubelet
	}
	e := c.entry(n.Name)
	e.node, e.exists = node, true
}

func (c *cluster) dropNode(name string) {
	if e := c.nodes[name]; e == nil || !e.exists {
		return
	}
	e := c.entry(name)
	e.node, e.exists = Node{}, false
	c.forget(name)
}

// forget removes a node that does not exist and has no pods.
func (c *cluster) forget(name string) {
	if e := c.nodes[name]; !e.exists && len(e.pods) == 0 {
		delete(c.nodes, name)
	}
}

func (c *cluster) setPod(p *corev1.Pod) {
	pod, kept := c.counting.podOf(p)
	if !kept {
		c.dropPod(p.UID)
		return
	}
	was, known := c.pods[p.UID]
	if known && was == p.Spec.NodeName && c.nodes[was].pods[p.UID] == pod {
		return
	}
	if known && was != p.Spec.NodeName { // the API server prevents this
		c.dropPod(p.UID)
	}
	c.entry(p.Spec.NodeName).pods[p.UID] = pod
	c.pods[p.UID] = p.Spec.NodeName
	c.followers.wake(pod.Job)
}

func (c *cluster) dropPod(uid types.UID) {
	on, known := c.pods[uid]
	if !known {
		return
	}
	delete(c.pods, uid)
	e := c.entry(on)
	c.followers.wake(e.pods[uid].Job)
	delete(e.pods, uid)
	c.forget(on)
}

// setNodes replaces all nodes, as at the start of a watch.
func (c *cluster) setNodes(all []*corev1.Node) {
	exist := make(map[string]bool, len(all))
	for _, n := range all {
		exist[n.Name] = true
		c.setNode(n)
	}
	for name, e := range c.nodes {
		if e.exists && !exist[name] {
			c.dropNode(name)
		}
	}
}

func (c *cluster) setPods(all []*corev1.Pod) {
	exist := make(map[types.UID]bool, len(all))
	for _, p := range all {
		exist[p.UID] = true
		c.setPod(p)
	}
	for uid := range c.pods {
		if !exist[uid] {
			c.dropPod(uid)
		}
	}
}
