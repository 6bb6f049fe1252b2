package write

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// All gangs together wake their schedulers at most this often: free capacity can fit thousands of small
// gangs, each of which would wake its scheduler.
const (
	wakesPerSecond = 1
	wakeBurst      = 20
)

// NewWakeLimiter returns the limiter for the wakes of all gangs.
func NewWakeLimiter(c clock.PassiveClock) flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(wakesPerSecond, wakeBurst, c)
}

// wakeOwner owns the annotation that wakes a scheduler. It is not the owner of what is applied, since an
// apply takes away what its owner no longer sends.
const wakeOwner = v1alpha1.OperatorName + "-wake"

// wakeScheduler wakes a scheduler that rests: it annotates objects that the scheduler watches. If the limit
// is reached it is tried again at the plan's Wake.
func (w *Objects) wakeScheduler(ctx context.Context, s *memory.Observed, woken *observation.Woken) error {
	waker := scheduler.Of(s.Backend).Waker
	if woken == nil || waker == nil {
		return nil
	}
	targets := wakeTargets(s, waker)
	if len(targets) == 0 || !w.Wakes.TryAccept() {
		return nil
	}
	log.FromContext(ctx).Info("Waking the scheduler: the gang fits, and the scheduler does not try again",
		"scheduler", s.Backend.Name(), "time", woken.Times)
	errs := w.each(ctx, len(targets), func(i int) error {
		return w.noteWoken(ctx, s.Job, targets[i], *woken)
	})
	w.Metrics.CountWake(s.Backend.Name())
	return errors.Join(errs...)
}

// wakeTargets returns the objects whose change wakes the scheduler: the gang's group, or its waiting pods.
func wakeTargets(s *memory.Observed, waker scheduler.Waker) []memory.OwnedObject {
	var targets []memory.OwnedObject
	kind := waker.WokenBy()
	if kind == scheduler.PodKind {
		for _, pod := range s.Pods {
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !observation.Ended(pod) {
				targets = append(targets, memory.NewOwnedObject(kind, pod))
			}
		}
		return targets
	}
	for _, wanted := range s.Gang.Wanted {
		if wanted.GetObjectKind().GroupVersionKind() != kind {
			continue
		}
		group := memory.Find(s.Groups, kind, wanted.GetName())
		if group != nil && group.GetDeletionTimestamp() == nil {
			targets = append(targets, memory.NewOwnedObject(kind, group))
		}
	}
	return targets
}

func (w *Objects) noteWoken(
	ctx context.Context, job *v1alpha1.TrainingJob, o memory.OwnedObject, woken observation.Woken,
) error {
	obj, err := memory.NewObject(w.Client.Scheme(), o.GVK())
	if err != nil {
		return err
	}
	obj.SetName(o.Object.GetName())
	obj.SetNamespace(o.Object.GetNamespace())
	// With the UID, which cannot change, another object of the name is left alone.
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, o.Object.GetUID(), v1alpha1.AnnotationWoken, woken))
	err = w.Client.Patch(ctx, obj, patch, client.FieldOwner(wakeOwner))
	if memory.IsGoneOrReplaced(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("waking the scheduler by %s %s: %w", o.GVK().Kind, obj.GetName(), err)
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		memory.TrimPod(pod)
	}
	obj.SetManagedFields(nil)
	w.Owned.Assume(job.UID, o.GVK(), obj)
	return nil
}
