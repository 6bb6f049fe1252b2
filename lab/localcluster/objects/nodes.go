package objects

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// fieldOwner owns the fields that this package applies.
const fieldOwner = "localcluster"

// The annotation that marks the nodes that KWOK plays.
const (
	FakeNodeAnnotation = "kwok.x-k8s.io/node"
	FakeNodeValue      = "fake"
)

// ResourceGPU is the extended resource of NVIDIA's device plugin.
const ResourceGPU corev1.ResourceName = "nvidia.com/gpu"

// podsPerNode is high enough that no gang waits for it.
const podsPerNode = 1000

// FakeNodes returns count nodes, node-0 and up, with gpus GPUs each.
func FakeNodes(count, gpus int, cpu, memory resource.Quantity) []*corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    cpu,
		corev1.ResourceMemory: memory,
		corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	if gpus > 0 {
		capacity[ResourceGPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	nodes := make([]*corev1.Node, 0, count)
	for i := range count {
		name := "node-" + strconv.Itoa(i)
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: name,
				Labels: map[string]string{
					corev1.LabelHostname:   name,
					corev1.LabelOSStable:   "linux",
					corev1.LabelArchStable: "amd64",
				},
				Annotations: map[string]string{FakeNodeAnnotation: FakeNodeValue},
			},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
		})
	}
	return nodes
}

// CreateNodes creates the nodes; KWOK makes them Ready.
func CreateNodes(ctx context.Context, client kubernetes.Interface, nodes []*corev1.Node) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8) // hundreds, one after the other, would take seconds
	for _, node := range nodes {
		group.Go(func() error {
			_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: fieldOwner})
			if err != nil {
				return fmt.Errorf("creating node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// WaitForNodes waits until so many nodes can take pods. died returns an error as soon as waiting is useless.
func WaitForNodes(ctx context.Context, client kubernetes.Interface, count int, died func() error) error {
	usable := 0
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
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

// GiveGPUs advertises GPUs on a real node as a device plugin would, once the kubelet has registered the node,
// and waits until the node can take pods that want them. died returns an error as soon as waiting is useless.
func GiveGPUs(
	ctx context.Context, client kubernetes.Interface, name string, gpus int, died func() error,
) error {
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%q:"%d"},"allocatable":{%q:"%d"}}}`,
		ResourceGPU, gpus, ResourceGPU, gpus)
	nodes, options := client.CoreV1().Nodes(), metav1.PatchOptions{FieldManager: fieldOwner}
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := died(); err != nil {
			return false, err
		}
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if have := node.Status.Allocatable[ResourceGPU]; have.Value() == int64(gpus) {
			return nodeUsable(node), nil
		}
		_, err = nodes.Patch(ctx, name, types.StrategicMergePatchType, patch, options, "status")
		if apierrors.IsConflict(err) {
			err = nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s with its GPUs: %w", name, err)
	}
	return nil
}

// IsFake reports whether KWOK plays the node.
func IsFake(node *corev1.Node) bool { return node.Annotations[FakeNodeAnnotation] == FakeNodeValue }

// nodeUsable reports whether the node can take pods: it is Ready, and the controller manager has seen that
// and removed its taint.
func nodeUsable(node *corev1.Node) bool { return NodeReady(node) && len(node.Spec.Taints) == 0 }

// NodeReady reports whether the node is Ready.
func NodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
