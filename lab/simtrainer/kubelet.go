package simtrainer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// fieldOwner of the pod status that the simulator writes, and its user agent.
const fieldOwner = "localcluster-trainers"

// kubelet writes to the API server what a kubelet would write when a pod ends.
type kubelet struct{ client client.Client }

// endRank ends a rank's pod. The termination message is the agent's where an agent runs, else the end of the
// log.
func (k kubelet) endRank(
	ctx context.Context, pod *corev1.Pod, rank Rank, exit Exit, message checkpoint.Termination,
) error {
	end := podEnd{container: rank.Container, code: exit.Code, at: exit.At, message: exit.Log}
	if rank.Wrapped {
		return k.endWithMessage(ctx, pod, end, message)
	}
	return k.endPod(ctx, pod, end)
}

// endWithMessage ends a pod with the agent's termination message.
func (k kubelet) endWithMessage(
	ctx context.Context, pod *corev1.Pod, end podEnd, message checkpoint.Termination,
) error {
	data, err := checkpoint.Encode(message)
	if err != nil {
		return fmt.Errorf("making the termination message: %w", err)
	}
	end.message = string(data)
	return k.endPod(ctx, pod, end)
}

// endPod writes the pod's end, and removes the pod if it is deleted.
func (k kubelet) endPod(ctx context.Context, pod *corev1.Pod, end podEnd) error {
	ended := pod.DeepCopy()
	ended.Status = endedStatus(pod, end)
	patch := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})
	err := k.client.Status().Patch(ctx, ended, patch, client.FieldOwner(fieldOwner))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("ending pod %s: %w", pod.Name, err)
	}
	return k.removeIfDeleted(ctx, ended)
}

// removeIfDeleted removes a deleted pod whose containers have ended. That includes a pod deleted without
// grace period: the API server marks such a pod before it removes it, and a caller that dies between the two
// leaves it behind (apiserver 1.36, pkg/registry/generic/registry/store.go,
// updateForGracefulDeletionAndFinalizers).
func (k kubelet) removeIfDeleted(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	err := k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	// conflict: a pod of the same name replaced it
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("removing pod %s: %w", pod.Name, err)
	}
	return nil
}
