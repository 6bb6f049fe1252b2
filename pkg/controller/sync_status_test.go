package controller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const finalizer, endMessage = "example.com/guards-quota", "example.com/end"

// finalizerBackend is a QuotaSystem whose groups carry a finalizer of ours and record how the gang ended.
type finalizerBackend struct {
	native.Backend
	stubs.NoQuotas
}

func (b finalizerBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	objs, err := b.Backend.Objects(g)
	if err == nil {
		objs[0].SetFinalizers([]string{finalizer})
	}
	return objs, err
}

func (b finalizerBackend) SyncStatus(
	_ scheduler.Gang, status scheduler.GangStatus, objs []client.Object,
) []scheduler.Write {
	var writes []scheduler.Write
	for _, group := range objs {
		changed := group.DeepCopyObject().(client.Object)
		switch {
		case status.Finished && group.GetAnnotations()[endMessage] == "":
			changed.SetAnnotations(map[string]string{endMessage: status.Message})
			changed.SetFinalizers(nil)
		case group.GetDeletionTimestamp() != nil && status.PodsLeft == 0 &&
			slices.Contains(group.GetFinalizers(), finalizer),
			status.Gone && status.PodsLeft == 0 && len(group.GetFinalizers()) > 0:
			changed.SetFinalizers(nil)
		default:
			continue
		}
		writes = append(writes, scheduler.Write{Base: group, Object: changed, Why: "test"})
	}
	return writes
}

func newFinalizerFixture(t *testing.T) *fixture {
	f := newFixture(t, bert(2))
	f.r.availability.Backends = []scheduler.Backend{finalizerBackend{Backend: native.New(native.Options{})}}
	f.wants("queued", queued...)
	f.wants("created", "create PodGroup bert-1", "create Service bert", "create Pod bert-worker-0",
		"create Pod bert-worker-1")
	f.sync()
	f.setPods(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning })
	f.sync()
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) group() *schedulingv1beta1.PodGroup {
	f.t.Helper()
	groups := &schedulingv1beta1.PodGroupList{}
	if err := f.store.List(f.t.Context(), groups); err != nil {
		f.t.Fatal(err)
	}
	if len(groups.Items) != 1 {
		f.t.Fatalf("there are %d groups", len(groups.Items))
	}
	return &groups.Items[0]
}

func TestSchedulerGetsTheEndOnce(t *testing.T) {
	f := newFinalizerFixture(t)
	f.setPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	f.sync()
	f.wants("success is written first", "patch TrainingJob/status bert", "event Completed")
	f.wants("the group stays and learns of it", "delete Service bert", "patch PodGroup bert-1")
	f.sync()
	f.wants("once")
	if got := f.group().Annotations[endMessage]; got != "2/2 ranks succeeded" {
		t.Errorf("the scheduler got %q", got)
	}
}

// While a pod of a deleted job can still run, its group holds the quota. After that only the operator frees
// it.
func TestGroupOfADeletedJobIsReleasedWithItsLastPod(t *testing.T) {
	f := newFinalizerFixture(t)
	for _, obj := range []client.Object{f.job(), f.group()} { // kubectl delete, and the garbage collector
		if err := f.store.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	f.sync()
	f.wants("two pods may still run")
	if f.group().DeletionTimestamp == nil {
		t.Fatal("the group is not being deleted: the test proves nothing")
	}
	if err := f.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.wants("the last pod is gone", "patch PodGroup bert-1")
	f.sync()
	f.wants("and nothing is left to do")
	if left := f.r.owned.JobsNamed(types.NamespacedName{Namespace: "default", Name: "bert"}); len(left) > 0 {
		// The Service is the garbage collector's.
		if all := f.r.owned.Objects(left[0]); len(all) != 1 || all[0].GVK() != memory.ServiceKind {
			t.Errorf("the cache still has %v", all)
		}
	}
}

// The same where a new job has taken the name meanwhile.
func TestGroupOfTheFormerJobIsReleased(t *testing.T) {
	f := newFinalizerFixture(t)
	group := f.group()
	if err := f.store.Delete(t.Context(), f.job()); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if err := f.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	next := bert(2)
	next.UID = "uid-next"
	if err := f.store.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.wants("the former one's group goes first", append([]string{"patch PodGroup bert-1"}, queued...)...)
}

// A cache of jobs that is behind that of groups must not make a job look gone.
func TestJobThatTheCacheDoesNotShowKeepsItsGroup(t *testing.T) {
	f := newFinalizerFixture(t)
	live := f.job()
	if err := f.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Delete(t.Context(), f.job()); err != nil {
		t.Fatal(err)
	}
	f.uncached = live
	f.sync()
	if result := f.wants("it exists, says the API server"); result.RequeueAfter != conflictRequeue {
		t.Errorf("it looks again after %v", result.RequeueAfter)
	}
	if !slices.Contains(f.group().Finalizers, finalizer) {
		t.Error("the group was released")
	}
}

// One edit suspends the job and moves it to another scheduler. The former scheduler's group has the quota
// until the operator releases it.
func TestGroupOfTheFormerSchedulerIsReleased(t *testing.T) {
	f := newFinalizerFixture(t)
	other := volcano.New(volcano.DefaultOptions())
	f.r.availability.Backends = append(f.r.availability.Backends, other)
	for _, kind := range other.Kinds() {
		f.r.availability.MarkServed(t.Context(), kind)
	}
	job := f.job()
	job.Spec.RunPolicy.Suspend = new(true)
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = volcano.Name
	if err := f.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		f.sync()
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	groups := &schedulingv1beta1.PodGroupList{}
	if err := f.store.List(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	if len(groups.Items) > 0 || f.job().Status.Phase != v1alpha1.PhaseSuspended {
		t.Errorf("the job is %s, and the former scheduler has %+v", f.job().Status.Phase, groups.Items)
	}
}
