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

// evictionMessage has the wording of Volcano and kube-scheduler.
const evictionMessage = Name + ": preempting to accommodate a higher priority pod"

func (s *Scheduler) apply(ctx context.Context, o *objects, d Decision) error {
	var errs []error
	try := func(what string, k Key, err error) {
		// The object was deleted or changed concurrently; the next step observes that.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("%s %s/%s: %w", what, k.Namespace, k.Name, err))
		}
	}
	for k, status := range d.Statuses {
		try("writing status of group", k, s.write(ctx, o, k, status))
	}
	for _, p := range d.Evictions {
		try("evicting pod", p.Key, s.evict(ctx, o.pods[p.Key]))
	}
	for _, b := range d.Binds {
		err := s.bind(ctx, o.pods[b.Pod.Key], b.Node)
		try("binding pod", b.Pod.Key, err)
		if err == nil && s.config.is(NeverReleases) {
			b.Pod.Node = b.Node
			s.bound[b.Pod.UID] = b.Pod
		}
	}
	for _, k := range d.Drops {
		try("dropping group", k, s.client.Delete(ctx, o.groups[k]))
	}
	return errors.Join(errs...)
}

func (s *Scheduler) write(ctx context.Context, o *objects, k Key, status Status) error {
	before := o.groups[k]
	after := before.DeepCopy()
	SetStatus(after, status)
	return s.client.Status().Patch(ctx, after, client.MergeFrom(before))
}

// evict in kube-scheduler's order (framework/preemption/executor.go): the condition first, then the deletion.
func (s *Scheduler) evict(ctx context.Context, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	setCondition(pod, metav1.NewTime(s.config.Now()), corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: corev1.PodReasonPreemptionByScheduler, Message: evictionMessage,
	})
	if err := s.client.Status().Patch(ctx, pod, client.StrategicMergeFrom(before)); err != nil {
		return err
	}
	return s.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
}

func (s *Scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	return s.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{
		// The UID prevents binding a newer pod of the same name.
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	})
}

// setCondition replaces the condition of the same type or appends it.
func setCondition(pod *corev1.Pod, now metav1.Time, c corev1.PodCondition) {
	c.LastTransitionTime = now
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == c.Type {
			pod.Status.Conditions[i] = c
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}
