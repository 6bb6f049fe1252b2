package measure

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"mlplatform.example.com/trainingjob-operator/bench/timeline"
)

// LabelGang is on every pod of a benchmark: the name of its gang.
const LabelGang = "bench.mlplatform.example.com/gang"

// Clock tells the time since the start of a run, by the machine's monotonic clock.
type Clock func() time.Duration

// WatchPods tells see of every change of a gang's pod in a namespace, one at a time, with the time at which
// the watch brought it. It returns once the watch has begun; the watch ends with ctx.
func WatchPods(ctx context.Context, clients kubernetes.Interface, namespace string, now Clock,
	see func(timeline.Event, *corev1.Pod)) error {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace),
		informers.WithTransform(trimPod),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = LabelGang }))
	informer := factory.Core().V1().Pods().Informer()
	return watch(ctx, informer, func(o any, gone bool) {
		pod, ok := o.(*corev1.Pod)
		if !ok {
			return
		}
		event := timeline.Event{At: now(), Gang: pod.Labels[LabelGang], UID: pod.UID, State: stateOf(pod)}
		if gone {
			event.State = timeline.Gone
		}
		see(event, pod)
	})
}

// trimPod drops unused fields: with thousands of ranks the watch must not limit a run.
func trimPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels,
				ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
			},
			Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: firstContainer(pod)},
			Status: corev1.PodStatus{Phase: pod.Status.Phase},
		}, nil
	}
	return o, nil
}

// firstContainer keeps its name and its image.
func firstContainer(pod *corev1.Pod) []corev1.Container {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	c := pod.Spec.Containers[0]
	return []corev1.Container{{Name: c.Name, Image: c.Image}}
}

func stateOf(pod *corev1.Pod) timeline.State {
	bound := pod.Spec.NodeName != ""
	switch {
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return timeline.Ended
	case pod.DeletionTimestamp != nil && bound:
		return timeline.Ending
	case pod.DeletionTimestamp != nil:
		return timeline.EndingUnbound
	case pod.Status.Phase == corev1.PodRunning:
		return timeline.Running
	case bound:
		return timeline.Bound
	default:
		return timeline.Pending
	}
}

// WatchGroups tells see of every group in a namespace that exists or changes. trim, unless it is nil, drops
// before that what see does not read: where there are very many groups they would take much memory.
func WatchGroups(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource,
	namespace string, trim cache.TransformFunc, see func(*unstructured.Unstructured)) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	informer := factory.ForResource(resource).Informer()
	if err := informer.SetTransform(trim); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	return watch(ctx, informer, func(o any, gone bool) {
		if group, ok := o.(*unstructured.Unstructured); ok && !gone {
			see(group)
		}
	})
}

// watch runs an informer and waits until it has begun.
func watch(ctx context.Context, informer cache.SharedIndexInformer, see func(o any, gone bool)) error {
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { see(o, false) },
		UpdateFunc: func(_, o any) { see(o, false) },
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			see(o, true)
		},
	}); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("waiting for a watch to begin: %w", context.Cause(ctx))
	}
	return nil
}
