package localcluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// fakeNodeAnnotation marks the nodes that KWOK plays.
const (
	fakeNodeAnnotation = "kwok.x-k8s.io/node"
	fakeNodeValue      = "fake"
)

// resourceGPU is the extended resource of NVIDIA's device plugin.
const resourceGPU corev1.ResourceName = "nvidia.com/gpu"

// podsPerNode is not to be what a gang waits for.
const podsPerNode = 1000

// fakeNodes are the nodes to create, node-0 and up.
func fakeNodes(o Options) []*corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(o.CPUPerNode),
		corev1.ResourceMemory: resource.MustParse(o.MemoryPerNode),
		corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	if o.GPUsPerNode > 0 {
		capacity[resourceGPU] = *resource.NewQuantity(int64(o.GPUsPerNode), resource.DecimalSI)
	}
	nodes := make([]*corev1.Node, 0, o.Nodes)
	for i := range o.Nodes {
		name := "node-" + strconv.Itoa(i)
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: name,
				Labels: map[string]string{
					corev1.LabelHostname:   name,
					corev1.LabelOSStable:   "linux",
					corev1.LabelArchStable: "amd64",
				},
				Annotations: map[string]string{fakeNodeAnnotation: fakeNodeValue},
			},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
		})
	}
	return nodes
}

// createNodes creates the fake nodes; KWOK makes them Ready.
func (c *Cluster) createNodes(ctx context.Context, nodes []*corev1.Node) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	for _, node := range nodes {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: fieldOwner}); err != nil {
			return fmt.Errorf("creating node %s: %w", node.Name, err)
		}
	}
	return nil
}

// waitForNodes waits until so many nodes can take pods.
func (c *Cluster) waitForNodes(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	usable := 0
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := c.anyDead(); err != nil {
			return false, err
		}
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("listing nodes: %w", err)
		}
		usable = 0
		for i := range nodes.Items {
			if nodeUsable(&nodes.Items[i]) {
				usable++
			}
		}
		return usable >= count, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for nodes (%d of %d are Ready): %w", usable, count, err)
	}
	return nil
}

// IsFake reports whether KWOK plays the node.
func IsFake(node *corev1.Node) bool { return node.Annotations[fakeNodeAnnotation] == fakeNodeValue }

// nodeUsable reports whether the node can take pods: Ready, and rid of the taint
// that it has until the controller manager has seen it Ready.
func nodeUsable(node *corev1.Node) bool { return nodeReady(node) && len(node.Spec.Taints) == 0 }

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
