package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// LabelKilled is set only on nodes that Kill killed and on their leases. A program that simulates pods can
// watch the leases with this label instead of the heartbeats of all nodes.
const LabelKilled = "localcluster.mlplatform.example.com/killed"

// killer holds the lease of a killed node.
const killer = "localcluster-killed"

// tenYears is how long a killed node's lease keeps KWOK away, in seconds.
const tenYears = 10 * 365 * 24 * 3600

// Kill makes a fake node dead, as if its power were cut: its heartbeats stop and its pods are no longer
// looked after (a deleted one stays Terminating). The node turns NotReady (status Unknown) when the
// cluster's grace period for nodes is over, and is then tainted unreachable.
//
// KWOK is configured to manage nodes without LabelKilled only. In addition the lease is given to a holder
// that never renews it. The lease alone is not enough: KWOK 0.8 starts its controllers in the order of a Go
// map (pkg/kwok/controllers, Controller.Start), and when the pods' controller starts first, it never learns
// of leases, so deleted pods of a node whose lease KWOK does not hold vanish at once. A map of two begins
// with the entry that was inserted first seven times of eight, so the order of the stages on KWOK's command
// line decides how often: with the pods' stages first, the test of a killed node fails without the label (2
// of 2) and passes with it (3 of 3).
//
// The takeover counts as the last heartbeat. Kubernetes 1.37 believes that a lease has run out only where it
// has not been written since the renewal that it knows (pkg/controller/nodelifecycle, gate
// NodeControllerLeaseCircuitBreaker): one that changes without a new renewTime keeps every node of the
// cluster Ready forever.
//
// A pod whose end is due already (command sleep, or the annotation that says how long it runs) still ends in
// time. A pod that is to be lost with its node should have none.
func Kill(ctx context.Context, client kubernetes.Interface, name string) error {
	if err := labelKilled(ctx, client, name, "true"); err != nil {
		return err
	}
	return updateLease(ctx, client, name, func(lease *coordinationv1.Lease) {
		lease.Spec.HolderIdentity = ptr.To(killer)
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](tenYears)
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		metav1.SetMetaDataLabel(&lease.ObjectMeta, LabelKilled, "true")
	})
}

// Revive undoes Kill, and returns when the node can take pods again.
func Revive(ctx context.Context, client kubernetes.Interface, name string) error {
	err := updateLease(ctx, client, name, func(lease *coordinationv1.Lease) {
		lease.Spec.HolderIdentity = nil
		lease.Spec.LeaseDurationSeconds = nil // KWOK sets it when it takes over
		delete(lease.Labels, LabelKilled)
	})
	if err != nil {
		return err
	}
	if err := labelKilled(ctx, client, name, nil); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return nodeUsable(node), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s to be Ready again: %w", name, err)
	}
	return settlePods(ctx, client, sets.New(name))
}

// RestartKWOK calls start, which starts a new KWOK, and hands it the nodes of the old one at once:
// otherwise it waits until their leases have run out. Killed nodes stay dead, and a real kubelet's node is
// left alone.
func RestartKWOK(ctx context.Context, client kubernetes.Interface, start func() error) error {
	released, err := releaseLeases(ctx, client)
	if err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := leases.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(list.Items, func(lease coordinationv1.Lease) bool {
			return released.Has(lease.Name) && lease.Spec.HolderIdentity == nil
		}), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for KWOK to take over the nodes: %w", err)
	}
	return settlePods(ctx, client, released)
}

// releaseLeases takes the leases of all living fake nodes from their holders, and returns the nodes' names.
func releaseLeases(ctx context.Context, client kubernetes.Interface) (sets.Set[string], error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	released := sets.New[string]()
	for _, node := range nodes.Items {
		if !IsFake(&node) {
			continue
		}
		err := updateLease(ctx, client, node.Name, func(lease *coordinationv1.Lease) {
			if ptr.Deref(lease.Spec.HolderIdentity, "") != killer {
				lease.Spec.HolderIdentity = nil
				released.Insert(node.Name)
			}
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return released, nil
}

// annotationTouched is what settlePods writes on pods.
const annotationTouched = "localcluster.mlplatform.example.com/touched"

// settleWithin bounds settlePods: a pod may stay Terminating because of its finalizers.
const settleWithin = 3 * time.Second

// settlePods changes every pod of the nodes, so that KWOK reads it. KWOK reads the pods once when it takes a
// node over, but its cache can still have another holder of the lease. It then skips the pods for good:
// deleted ones stay Terminating and new ones Pending.
func settlePods(ctx context.Context, client kubernetes.Interface, nodes sets.Set[string]) error {
	first := true
	const interval = 200 * time.Millisecond
	settle := func(ctx context.Context) (bool, error) {
		pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("listing pods: %w", err)
		}
		settled := !first
		for i := range pods.Items {
			pod := &pods.Items[i]
			waiting := pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending
			if !nodes.Has(pod.Spec.NodeName) || !first && !waiting {
				continue
			}
			settled = false
			if err := touchPod(ctx, client, pod); err != nil {
				return false, err
			}
		}
		first = false
		return settled, nil
	}
	err := wait.PollUntilContextTimeout(ctx, interval, settleWithin, true, settle)
	if ctx.Err() == nil && wait.Interrupted(err) {
		return nil
	}
	return err
}

func touchPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	now := time.Now().Format(time.RFC3339Nano)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationTouched, now)
	options := metav1.PatchOptions{FieldManager: fieldOwner}
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, options)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("touching pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// labelKilled sets the value of a node's LabelKilled; nil removes the label.
func labelKilled(ctx context.Context, client kubernetes.Interface, name string, value any) error {
	labels := map[string]any{LabelKilled: value}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: fieldOwner}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, options)
	if err != nil {
		return fmt.Errorf("labelling node %s: %w", name, err)
	}
	return nil
}

func updateLease(
	ctx context.Context, client kubernetes.Interface, name string, change func(*coordinationv1.Lease),
) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(lease)
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: fieldOwner})
		return err
	})
	if err != nil {
		return fmt.Errorf("updating the lease of node %s: %w", name, err)
	}
	return nil
}
