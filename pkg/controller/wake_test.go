package controller

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

var groupKind = native.New(native.Options{}).Kinds()[0]

// resting is a backend whose scheduler rests as soon as a gang has pods; by its pods it is woken once.
type resting struct {
	native.Backend
	by schema.GroupVersionKind
}

func (r resting) NeedsWake(g scheduler.Gang, _ []client.Object, _ scheduler.ClusterState) (string, bool) {
	return "it rests", g.HasPods && (r.by != scheduler.PodKind || g.Woken == 0)
}
func (r resting) WokenBy() schema.GroupVersionKind { return r.by }

func newRestingFixture(t *testing.T, by schema.GroupVersionKind) *fixture {
	f := newFixture(t, bert(2))
	f.options.Backends = []scheduler.Backend{resting{native.New(native.Options{}), by}}
	f.dependencies.availability = backends.NewAvailability(nil, f.clock, f.options.Backends, "")
	f.dependencies.availability.MarkServed(t.Context(), f.options.Backends[0].Kinds()[0])
	f.withNodes(backends.NodeAutoscalerAbsent, "8")
	f.wants("it is queued", queued...)
	f.wants("it is created", created...)
	f.sync()
	return f
}

// TestSchedulerThatRestsIsWoken: the scheduler has rejected the gang, and does not retry although the gang
// fits now.
func TestSchedulerThatRestsIsWoken(t *testing.T) {
	f := newRestingFixture(t, groupKind)
	f.wants("it is given time to bind what was created just now")
	f.clock.Step(10 * time.Second)
	f.wants("then it is woken", "patch PodGroup bert-1")
	f.wants("once, though the watch shows nothing yet")
	f.sync()
	f.wants("once")
	f.clock.Step(5 * time.Second)
	f.wants("it says so", "patch TrainingJob/status bert", "event SchedulerRests")
	f.restart()
	f.sync()
	f.clock.Step(4 * time.Second)
	f.wants("another process reads when it was woken last")
	f.clock.Step(time.Second)
	f.wants("and wakes it again in time", "patch PodGroup bert-1")
	f.sync()
	f.clock.Step(19 * time.Second)
	f.wants("not sooner than after twice that")
	f.setPods(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "a", corev1.PodRunning })
	f.sync()
	f.wants("which was not needed any more", "patch TrainingJob/status bert", "event GangRunning")
	f.clock.Step(time.Hour)
	f.wants("a running gang wakes no scheduler, and its group is not applied again")
}

func TestSchedulerIsWokenByPods(t *testing.T) {
	f := newRestingFixture(t, scheduler.PodKind)
	f.clock.Step(10 * time.Second)
	f.wants("each rank is looked at again only when it changes itself", "patch Pod bert-worker-0",
		"patch Pod bert-worker-1")
	f.sync()
	f.wants("once")
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: "default", Name: "bert-worker-1"}
	if err := f.store.Get(t.Context(), key, pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Annotations[v1alpha1.AnnotationWoken]; got != "1 2026-11-21T12:00:10Z" {
		t.Errorf("the annotation is %q", got)
	}
	f.clock.Step(time.Hour)
	if did, _, err := f.reconcile(t.Context()); err != nil || slices.Contains(did, "patch Pod bert-worker-0") {
		t.Errorf("the dialect knows how often it was woken, and that once is enough: %v, %v", did, err)
	}
}

func TestWakingIsBoundedOverAllGangs(t *testing.T) {
	f := newRestingFixture(t, groupKind)
	f.r.writer.Wakes = flowcontrol.NewFakeNeverRateLimiter()
	f.clock.Step(10 * time.Second)
	result := f.wants("others were woken just now")
	if result.RequeueAfter <= 0 || result.RequeueAfter > 10*time.Second {
		t.Errorf("it is tried again after %s", result.RequeueAfter)
	}
}
