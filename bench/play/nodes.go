package play

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
)

// FakeNodes are the nodes of a workload. Processors and memory never run out before GPUs do.
func FakeNodes(count, gpus int) []*corev1.Node {
	return objects.FakeNodes(count, gpus, resource.MustParse("1000"), resource.MustParse("4Ti"))
}

// shapeNodes gives the cluster exactly these fake nodes. It changes a node with other GPUs instead of
// recreating it: KWOK runs the pods of a node that was deleted and created at once only after its next
// heartbeat.
func shapeNodes(ctx context.Context, clients kubernetes.Interface, count, gpus int) error {
	have, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	wanted := map[string]*corev1.Node{}
	for _, node := range FakeNodes(count, gpus) {
		wanted[node.Name] = node
	}
	for i := range have.Items {
		node := &have.Items[i]
		w := wanted[node.Name]
		delete(wanted, node.Name)
		if err := shapeNode(ctx, clients, node, w); err != nil {
			return err
		}
	}
	if err := objects.CreateNodes(ctx, clients, slices.Collect(maps.Values(wanted))); err != nil {
		return err
	}
	return objects.WaitForNodes(ctx, clients, count, func() error { return nil })
}

// shapeNode gives a node the GPUs that it should have, and deletes one that should not be.
func shapeNode(ctx context.Context, clients kubernetes.Interface, node, wanted *corev1.Node) error {
	if wanted == nil {
		if err := clients.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting node %s: %w", node.Name, err)
		}
		return nil
	}
	gpus := gpusOf(wanted)
	if gpusOf(node).Equal(*gpus) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%[1]q:%[2]q},"allocatable":{%[1]q:%[2]q}}}`,
		stack.ResourceGPU, gpus)
	if _, err := clients.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("giving node %s %s GPUs: %w", node.Name, gpus, err)
	}
	return nil
}

func gpusOf(node *corev1.Node) *resource.Quantity {
	return node.Status.Capacity.Name(stack.ResourceGPU, resource.DecimalSI)
}

// failNodes lets nodes die and come back. A cloud whose machine is gone deletes its node, and the pods of a
// deleted node are deleted by kube-controller-manager about a minute later; both are done here at once, the
// same for every stack.
func (r *recorder) failNodes(ctx context.Context) error {
	var back sync.WaitGroup
	defer back.Wait()
	nodes := FakeNodes(r.workload.Nodes, r.workload.GPUsPerNode)
	for _, failure := range r.workload.Failures {
		if r.sleepUntil(ctx, failure.At) != nil {
			return nil // the run is over
		}
		node := nodes[failure.Node]
		if err := r.killNode(ctx, node.Name); err != nil {
			return fmt.Errorf("letting node %s die: %w", node.Name, err)
		}
		r.task(func(ctx context.Context) error {
			if r.sleepUntil(ctx, failure.At+failure.For) != nil {
				return nil
			}
			return objects.CreateNodes(ctx, r.clients, []*corev1.Node{node.DeepCopy()})
		})
	}
	return nil
}

func (r *recorder) killNode(ctx context.Context, name string) error {
	err := r.clients.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	now := int64(0)
	all := metav1.DeleteOptions{GracePeriodSeconds: &now}
	on := metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}
	// A scheduler that has not received the change yet can bind one more pod.
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 2*time.Second, true,
		func(ctx context.Context) (bool, error) {
			return false, r.clients.CoreV1().Pods(r.namespace).DeleteCollection(ctx, all, on)
		})
	if wait.Interrupted(err) {
		return nil
	}
	return err
}
