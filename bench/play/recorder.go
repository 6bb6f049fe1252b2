package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stack"
	"mlplatform.example.com/trainingjob-operator/bench/timeline"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// recorder plays one run. Watches tell it of pods and groups; it keeps the timeline, ends gangs that have
// trained long enough, and tells sessions that mind their gangs themselves.
type recorder struct {
	*Player
	workload  workload.Workload
	namespace string
	clients   kubernetes.Interface
	dyn       dynamic.Interface
	// began is the start of the run; watches that have begun before it see nothing until then.
	began atomic.Pointer[time.Time]
	gangs map[string]workload.Gang
	// running ends with the run, and with it the tasks; the watches go on while everything is deleted.
	running context.Context
	stop    context.CancelCauseFunc
	// tasks are requests under way on behalf of users, trainers and sessions.
	tasks sync.WaitGroup
	// changed has a value when something has happened since it was last read.
	changed chan struct{}

	mu sync.Mutex
	// over is true when the run's end has come: nothing follows from what is seen after it.
	over     bool
	timeline *timeline.Timeline
	// pods that exist, by gang and UID.
	pods map[string]map[types.UID]*corev1.Pod
	done map[string]bool
	// submitting is the number of gangs whose requests are under way.
	submitting int
	errs       []error
}

func newRecorder(ctx context.Context, p *Player, clients kubernetes.Interface, dyn dynamic.Interface,
	namespace string, w workload.Workload) *recorder {
	r := &recorder{
		Player: p, workload: w, namespace: namespace, clients: clients, dyn: dyn,
		gangs: map[string]workload.Gang{}, changed: make(chan struct{}, 1), timeline: timeline.New(w),
		pods: map[string]map[types.UID]*corev1.Pod{}, done: map[string]bool{},
	}
	r.running, r.stop = context.WithCancelCause(ctx)
	r.begin()
	for _, g := range w.Gangs {
		r.gangs[g.Name], r.pods[g.Name] = g, map[types.UID]*corev1.Pod{}
	}
	return r
}

func (r *recorder) begin() {
	now := time.Now()
	r.began.Store(&now)
}

func (r *recorder) now() time.Duration { return time.Since(*r.began.Load()) }

// watch begins to watch pods, and groups where they tell of admission.
func (r *recorder) watch(ctx context.Context) error {
	err := measure.WatchPods(ctx, r.clients, r.namespace, r.now, func(e timeline.Event, pod *corev1.Pod) {
		r.seePod(e, pod)
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	admission := r.Session.Admission()
	if admission == nil {
		return nil
	}
	see := func(o *unstructured.Unstructured) {
		gang := admission.Gang(o)
		if admission.Admitted(o) {
			r.with(func(t *timeline.Timeline) { t.Admitted(gang, r.now()) })
		}
		if admission.Evicted != nil && admission.Evicted(o) {
			r.evicted(gang, o.GetUID())
		}
	}
	return measure.WatchGroups(ctx, r.dyn, admission.Resource, r.namespace, nil, see)
}

// evicted tells a session that minds its gangs.
func (r *recorder) evicted(gang string, object types.UID) {
	g, known := r.gangs[gang]
	r.mu.Lock()
	finished := r.done[gang]
	r.mu.Unlock()
	minder, ok := r.Session.(stack.Minder)
	if !known || finished || !ok {
		return
	}
	r.task(func(ctx context.Context) error {
		if err := minder.Evicted(ctx, r.namespace, g, object); err != nil {
			return fmt.Errorf("gang %s was evicted: %w", gang, err)
		}
		return nil
	})
}

// play submits the gangs in time and returns when the workload's End has come, or with cut when its bound
// has. The clock begins here.
func (r *recorder) play() (cut bool, err error) {
	bound := time.AfterFunc(r.workload.Cut, func() { r.stop(errCut) })
	defer bound.Stop()
	defer r.end()
	r.begin()
	r.task(r.submitAll)
	r.task(r.failNodes)
	err = r.until(r.running, func() bool {
		r.say(r.progress())
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.errs) > 0 {
			return true
		}
		if r.workload.End == workload.EndPlaced {
			return r.timeline.Placed()
		}
		return r.timeline.Finished()
	})
	if errors.Is(err, errCut) {
		return true, nil
	}
	if err == nil {
		r.awaitSubmitted()
	}
	return false, errors.Join(append([]error{err}, r.failures()...)...)
}

// submittedWithin bounds the wait for gangs that nothing else waits for. A client that writes the pods itself
// once its gang is admitted may never be done with one that only queues.
const submittedWithin = 2 * time.Second

// awaitSubmitted waits until what is sent last has arrived: a gang that only queues must be there all the
// same.
func (r *recorder) awaitSubmitted() {
	ctx, cancel := context.WithTimeout(r.running, submittedWithin)
	defer cancel()
	_ = r.until(ctx, func() bool { // what is not there by then is not waited for
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.submitting == 0
	})
}

// end of the run, and of all that is under way for it.
func (r *recorder) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.stop(nil)
	r.tasks.Wait()
}

// until waits until ok; it looks whenever something has happened.
func (r *recorder) until(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-r.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// submitAll submits and deletes gangs as their users do, each when its time has come.
func (r *recorder) submitAll(ctx context.Context) error {
	for _, g := range r.workload.Gangs {
		if err := r.sleepUntil(ctx, g.At); err != nil {
			return nil // the run is over
		}
		r.with(func(t *timeline.Timeline) {
			t.Submitted(g.Name, r.now())
			r.submitting++
		})
		r.task(func(ctx context.Context) error {
			err := r.Session.Submit(ctx, r.namespace, g)
			r.with(func(*timeline.Timeline) { r.submitting-- })
			if err != nil {
				return fmt.Errorf("submitting gang %s: %w", g.Name, err)
			}
			if g.DeleteAfter == 0 || r.sleepUntil(ctx, g.At+g.DeleteAfter) != nil {
				return nil
			}
			r.finished(g.Name, func(t *timeline.Timeline) bool { t.Deleted(g.Name, r.now()); return true })
			return r.Session.Delete(ctx, r.namespace, g)
		})
	}
	return nil
}

func (r *recorder) sleepUntil(ctx context.Context, at time.Duration) error {
	timer := time.NewTimer(at - r.now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// seePod takes what the watch saw of a pod, and does what follows.
func (r *recorder) seePod(e timeline.Event, pod *corev1.Pod) {
	var began *timeline.Training
	var finished bool
	r.with(func(t *timeline.Timeline) {
		began = t.See(e)
		finished = r.done[e.Gang]
		if pods := r.pods[e.Gang]; pods != nil && e.State == timeline.Gone {
			delete(pods, e.UID)
		} else if pods != nil {
			pods[e.UID] = pod
		}
	})
	if minder, ok := r.Session.(stack.Minder); ok && e.State >= timeline.EndingUnbound && !finished {
		r.task(func(ctx context.Context) error {
			if err := minder.PodLost(ctx, r.namespace, r.gangs[e.Gang], e.UID); err != nil {
				return fmt.Errorf("gang %s has lost a pod: %w", e.Gang, err)
			}
			return nil
		})
	}
	if began != nil && began.Left > 0 {
		r.task(func(ctx context.Context) error { return r.train(ctx, *began) })
	}
}

// train ends a gang when it has trained long enough, unless something has come between.
func (r *recorder) train(ctx context.Context, began timeline.Training) error {
	if r.sleepUntil(ctx, r.now()+began.Left) != nil {
		return nil // the run is over
	}
	over := r.finished(began.Gang, func(t *timeline.Timeline) bool {
		return t.Finish(began.Gang, began.Attempt, r.now())
	})
	if !over {
		return nil
	}
	if err := r.succeed(ctx, began.Gang); err != nil {
		return fmt.Errorf("ending the pods of gang %s: %w", began.Gang, err)
	}
	if minder, ok := r.Session.(stack.Minder); ok {
		return minder.Finished(ctx, r.namespace, r.gangs[began.Gang])
	}
	return nil
}

// finished notes that a gang is over, if it is.
func (r *recorder) finished(gang string, ask func(*timeline.Timeline) bool) (over bool) {
	r.with(func(t *timeline.Timeline) {
		if over = ask(t); over {
			r.done[gang] = true
		}
	})
	return over
}

// succeed ends a gang's pods with exit code 0, as their kubelets would.
func (r *recorder) succeed(ctx context.Context, gang string) error {
	r.mu.Lock()
	pods := slices.Collect(maps.Values(r.pods[gang]))
	r.mu.Unlock()
	for _, pod := range pods {
		patch, err := succeeded(pod, time.Now())
		if err != nil {
			return err
		}
		_, err = r.clients.CoreV1().Pods(r.namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// succeeded is a patch of the status of a pod whose one container has exited with 0.
func succeeded(pod *corev1.Pod, at time.Time) ([]byte, error) {
	now := metav1.NewTime(at)
	container := pod.Spec.Containers[0]
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": corev1.PodStatus{
		Phase: corev1.PodSucceeded,
		Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now,
		}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: container.Name, Image: container.Image,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "Completed", FinishedAt: now,
			}},
		}},
	}})
}

// with changes the timeline, and wakes who waits for that.
func (r *recorder) with(change func(*timeline.Timeline)) {
	r.mu.Lock()
	change(r.timeline)
	r.mu.Unlock()
	r.wake()
}

func (r *recorder) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// task runs a request concurrently, unless the run is over. Its error ends the run.
func (r *recorder) task(do func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.tasks.Go(func() {
		if err := do(r.running); err != nil && r.running.Err() == nil {
			r.mu.Lock()
			r.errs = append(r.errs, err)
			r.mu.Unlock()
			r.wake()
		}
	})
}

func (r *recorder) failures() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errs
}

// Counts as of the timeline.
func (r *recorder) Counts() timeline.Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeline.Counts()
}

// Summarize as of the timeline.
func (r *recorder) Summarize(end workload.End, run *result.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timeline.Summarize(end, run)
}

// Unknown as of the timeline.
func (r *recorder) Unknown() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeline.Unknown()
}
