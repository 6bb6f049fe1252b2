package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// deadHolder holds the lease of a node that KillNode killed.
const deadHolder = "localcluster-killed"

// LabelKilled is on a node that KillNode killed and on its lease, and on no others:
// who plays pods on fake nodes can watch these leases, and not the heartbeats of all
// nodes.
const LabelKilled = "localcluster.mlplatform.example.com/killed"

// foreverSeconds is how long a killed node's lease keeps KWOK away: ten years.
const foreverSeconds = 10 * 365 * 24 * 3600

// annotationTouched is what settlePods writes on pods.
const annotationTouched = "localcluster.mlplatform.example.com/touched"

// KillNode makes a fake node dead, as if its power were cut: its heartbeats stop
// and its pods are no longer looked after (a deleted one stays Terminating). It
// returns at once; the node turns NotReady (status Unknown) when
// Options.NodeGracePeriod is over, and is then tainted unreachable.
//
// How: KWOK is told to manage nodes without LabelKilled. The lease is given to
// somebody who never renews it, too. That alone does not do: KWOK 0.8 starts its
// controllers in the order of a Go map (pkg/kwok/controllers, Controller.Start), and
// where that of pods comes first it never learns of leases: then deleted pods of a
// node whose lease it does not hold vanish at once. A map of two begins with the
// entry that was put in first seven times of eight, so the order in which kwok names
// the stages decides how often: with the pods' stages first, the test of a killed
// node fails without the label (2 of 2), and passes with it (3 of 3).
//
// One thing goes on: a pod whose end was due already (command sleep, or
// AnnotationRunSeconds) still ends when its time comes. Pods that are to be lost
// with their node are better without one.
func (c *Cluster) KillNode(ctx context.Context, name string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	if err := labelKilled(ctx, client, name, "true"); err != nil {
		return err
	}
	return updateLease(ctx, client, name, func(lease *coordinationv1.Lease) {
		lease.Spec.HolderIdentity = ptr.To(deadHolder)
		lease.Spec.LeaseDurationSeconds = ptr.To[int32](foreverSeconds)
		metav1.SetMetaDataLabel(&lease.ObjectMeta, LabelKilled, "true")
	})
}

// ReviveNode undoes KillNode, and returns when the node can take pods again.
func (c *Cluster) ReviveNode(ctx context.Context, name string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	err = updateLease(ctx, client, name, func(lease *coordinationv1.Lease) {
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
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
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

// takeOver lets a KWOK that was started anew have the nodes of the one before at
// once: it would otherwise wait until their leases have run out. Dead nodes stay
// dead, and a real kubelet's node is left alone.
func (c *Cluster) takeOver(ctx context.Context, startKwok func() error) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("creating a client: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	taken := sets.New[string]()
	for _, node := range nodes.Items {
		if !IsFake(&node) {
			continue
		}
		err := updateLease(ctx, client, node.Name, func(lease *coordinationv1.Lease) {
			if ptr.Deref(lease.Spec.HolderIdentity, "") != deadHolder {
				lease.Spec.HolderIdentity = nil
				taken.Insert(node.Name)
			}
		})
		if ignoreNotFound(err) != nil {
			return err
		}
	}
	if err := startKwok(); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, healthyWithin, true, func(ctx context.Context) (bool, error) {
		leases, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(leases.Items, func(lease coordinationv1.Lease) bool {
			return taken.Has(lease.Name) && lease.Spec.HolderIdentity == nil
		}), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for KWOK to take over the nodes: %w", err)
	}
	return settlePods(ctx, client, taken)
}

// settleWithin bounds settlePods: a pod may be Terminating for its finalizers,
// which is nothing to wait for.
const settleWithin = 3 * time.Second

// settlePods makes KWOK look at every pod of the nodes, by changing it. KWOK does
// that once by itself when it takes a node over, but its cache may then still say
// that somebody else holds the lease, and it passes over the pods for good (seen:
// deleted pods stayed Terminating and new ones Pending).
func settlePods(ctx context.Context, client kubernetes.Interface, nodes sets.Set[string]) error {
	first := true
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, settleWithin, true, func(ctx context.Context) (bool, error) {
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
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return nil
	}
	return err
}

func touchPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationTouched, time.Now().Format(time.RFC3339Nano))
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
	if ignoreNotFound(err) != nil {
		return fmt.Errorf("touching pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// labelKilled gives a node the label of that name; nil takes it away.
func labelKilled(ctx context.Context, client kubernetes.Interface, name string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{LabelKilled: value}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
	if err != nil {
		return fmt.Errorf("labelling node %s: %w", name, err)
	}
	return nil
}

func updateLease(ctx context.Context, client kubernetes.Interface, name string, change func(*coordinationv1.Lease)) error {
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
