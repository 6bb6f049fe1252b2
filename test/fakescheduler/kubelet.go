package fakescheduler

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet runs the pods that were bound before this step and removes those that were deleted. It leaves the
// pods of a missing or unready node alone: that is what the loss of a node looks like.
func (s *Scheduler) kubelet(ctx context.Context, o *objects) error {
	alive := map[string]bool{}
	for i := range o.nodes {
		alive[o.nodes[i].Name] = ready(&o.nodes[i])
	}
	var errs []error
	for k, pod := range o.pods {
		if !alive[pod.Spec.NodeName] {
			continue
		}
		var err error
		switch {
		case pod.DeletionTimestamp != nil:
			err = s.end(ctx, pod)
		case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
			err = s.run(ctx, pod)
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("simulating the kubelet of pod %s/%s: %w", k.Namespace, k.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Scheduler) end(ctx context.Context, pod *corev1.Pod) error {
	if s.ending[string(pod.UID)] < s.config.Grace {
		s.ending[string(pod.UID)]++
		return nil
	}
	delete(s.ending, string(pod.UID))
	return s.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
}

func (s *Scheduler) run(ctx context.Context, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	now := metav1.NewTime(s.config.Now())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = &now
	s.addresses++
	pod.Status.PodIP = fmt.Sprintf("10.0.%d.%d", s.addresses/250%250, 1+s.addresses%250)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		setCondition(pod, now, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue})
	}
	yes := true
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: &yes,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return s.client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before))
}
