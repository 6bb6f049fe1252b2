package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

// TestUrgentFirst: where a thousand jobs are to be looked at, what a user asks for and what happens to ranks
// with a node is served first, and what only tells why a job waits is served in its turn.
func TestUrgentFirst(t *testing.T) {
	job := func(change func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
		j := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine", UID: "mine"}}
		j.Status.Phase = v1alpha1.PhaseQueued
		if change != nil {
			change(j)
		}
		return j
	}
	owner := metav1.ObjectMeta{Namespace: "default", Name: "mine-worker-0", UID: "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(),
			Kind: memory.JobKind.Kind, Name: "mine", UID: "mine", Controller: new(true)}}}
	pod := func(node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: owner, Spec: corev1.PodSpec{NodeName: node}}
	}
	ending := pod("")
	ending.DeletionTimestamp = &metav1.Time{Time: start}
	jobs := jobHandler{}
	spec := func(j *v1alpha1.TrainingJob) { j.Generation++ }
	attempt := func(j *v1alpha1.TrainingJob) { j.Status.Attempt++ }
	restart := func(j *v1alpha1.TrainingJob) { j.Annotations = map[string]string{"restart": "now"} }
	queue := func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"queue": "research"} }
	message := func(j *v1alpha1.TrainingJob) { j.Status.Message = "waiting" }
	changed := func(change func(*v1alpha1.TrainingJob)) func(turn.Queue) {
		return func(q turn.Queue) {
			jobs.Update(t.Context(), event.TypedUpdateEvent[*v1alpha1.TrainingJob]{
				ObjectOld: job(nil), ObjectNew: job(change)}, q)
		}
	}
	starting := func(change func(*v1alpha1.TrainingJob)) func(turn.Queue) {
		return func(q turn.Queue) {
			jobs.Create(t.Context(), event.TypedCreateEvent[*v1alpha1.TrainingJob]{
				Object: job(change), IsInInitialList: true}, q)
		}
	}
	owned := memory.NewOwnedCache(clock.RealClock{}, func(client.Object) {})
	pods := &ownedHandler{gvk: memory.PodKind, owned: owned}
	updated := func(p *corev1.Pod) func(turn.Queue) {
		return func(q turn.Queue) {
			pods.Update(t.Context(), event.UpdateEvent{ObjectOld: pod(""), ObjectNew: p}, q)
		}
	}
	runs, waiting := memory.NewOwnedCache(clock.RealClock{}, nil), memory.NewOwnedCache(clock.RealClock{}, nil)
	runs.Observe(memory.PodKind, pod("node-0"))
	waiting.Observe(memory.PodKind, pod(""))
	groupOf := func(owned *memory.OwnedCache) func(turn.Queue) {
		return func(q turn.Queue) {
			groups := &ownedHandler{gvk: volcano.SchemeGroupVersion.WithKind("PodGroup"), owned: owned}
			group := &volcano.PodGroup{ObjectMeta: owner}
			group.UID = "group"
			groups.Update(t.Context(), event.UpdateEvent{ObjectOld: group, ObjectNew: group}, q)
		}
	}
	for name, c := range map[string]struct {
		event func(turn.Queue)
		first bool
	}{
		"a job is created": {first: true, event: func(q turn.Queue) {
			jobs.Create(t.Context(), event.TypedCreateEvent[*v1alpha1.TrainingJob]{Object: job(nil)}, q)
		}},
		"a job waits when the operator starts":  {event: starting(nil)},
		"a job was changed when there was none": {first: true, event: starting(spec)},
		"a job is changed":                      {first: true, event: changed(spec)},
		"a job has a new attempt":               {first: true, event: changed(attempt)},
		"a restart is asked for":                {first: true, event: changed(restart)},
		"a queue is named":                      {first: true, event: changed(queue)},
		"a job has a reason why it waits":       {event: changed(message)},
		"a pod gets a node":                     {first: true, event: updated(pod("node-0"))},
		"a pod that waits ends":                 {first: true, event: updated(ending)},
		"a pod has a reason why it waits":       {event: updated(pod(""))},
		"a pod is gone": {first: true, event: func(q turn.Queue) {
			pods.Delete(t.Context(), event.DeleteEvent{Object: pod("node-0")}, q)
		}},
		"a group may have its pods":                {event: groupOf(waiting)},
		"a gang that runs is asked for its places": {first: true, event: groupOf(runs)},
	} {
		t.Run(name, func(t *testing.T) {
			q := priorityqueue.New[reconcile.Request]("test")
			defer q.ShutDown()
			const others = 1000
			for i := range others {
				turn.Take(q, types.NamespacedName{Name: fmt.Sprint(i)}, turn.Usual, 0)
			}
			c.event(q)
			if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
				func(context.Context) (bool, error) { return q.Len() > others, nil }); err != nil {
				t.Fatalf("%d of %d are ready: %v", q.Len(), others+1, err)
			}
			want := others
			if c.first {
				want = 0
			}
			for n := range others + 1 {
				req, _, _ := q.GetWithPriority()
				q.Done(req)
				if req.Name == "mine" && n != want {
					t.Errorf("it is served after %d others, want %d", n, want)
				}
			}
		})
	}
}

// TestAllThatWaitComeLast: where a queue is changed, or a process begins, every job that waits looks again.
func TestAllThatWaitComeLast(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	woken := make(waker)
	if err := woken.source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	named := func(name string) []types.NamespacedName { return []types.NamespacedName{{Name: name}} }
	woken.Wake(t.Context(), named("all"), turn.Last)
	woken.Wake(t.Context(), named("one"), turn.Usual)
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return q.Len() == 2, nil }); err != nil {
		t.Fatalf("%d of 2 are ready: %v", q.Len(), err)
	}
	for _, want := range []string{"one", "all"} {
		req, _, _ := q.GetWithPriority()
		q.Done(req)
		if req.Name != want {
			t.Errorf("%s is served, want %s", req.Name, want)
		}
	}
}
