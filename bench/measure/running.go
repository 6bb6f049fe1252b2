package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Running watches the pods of one namespace and records how many run, and when the last one started.
type Running struct {
	mu      sync.Mutex
	phases  map[string]corev1.PodPhase
	running int
	last    time.Time
	changed chan struct{}
}

// WatchRunning starts the watch and returns once it has synced. The watch ends with ctx.
func WatchRunning(ctx context.Context, clients kubernetes.Interface, namespace string) (*Running, error) {
	r := &Running{phases: map[string]corev1.PodPhase{}, changed: make(chan struct{}, 1)}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.see(o, false) },
		UpdateFunc: func(_, o any) { r.see(o, false) },
		DeleteFunc: func(o any) { r.see(o, true) },
	}); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("watching pods: %w", context.Cause(ctx))
	}
	return r, nil
}

func (r *Running) see(o any, gone bool) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.phases[pod.Name]
	r.phases[pod.Name] = pod.Status.Phase
	if gone {
		delete(r.phases, pod.Name)
	}
	now := r.phases[pod.Name]
	if before != corev1.PodRunning && now == corev1.PodRunning {
		r.running++
		r.last = time.Now()
	} else if before == corev1.PodRunning && now != corev1.PodRunning {
		r.running--
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Until waits until ok holds for the numbers of pods and of running pods. It returns the time at which the
// last pod was seen to run.
func (r *Running) Until(ctx context.Context, ok func(pods, running int) bool) (time.Time, error) {
	for {
		r.mu.Lock()
		pods, running, last := len(r.phases), r.running, r.last
		r.mu.Unlock()
		if ok(pods, running) {
			return last, nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d pods, %d of them running: %w", pods, running, context.Cause(ctx))
		}
	}
}
