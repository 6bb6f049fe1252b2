package controller

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

const guard, told = "example.com/guards-quota", "example.com/told"

// guarding is a dialect whose groups carry a finalizer of ours and want to hear of the end.
type guarding struct{ native.Backend }

func (b guarding) Objects(g scheduler.Gang) ([]client.Object, error) {
	objs, err := b.Backend.Objects(g)
	if err == nil {
		objs[0].SetFinalizers([]string{guard})
	}
	return objs, err
}

func (b guarding) SyncStatus(_ scheduler.Gang, life scheduler.GangStatus, objs []client.Object) []scheduler.Write {
	var writes []scheduler.Write
	for _, group := range objs {
		changed := group.DeepCopyObject().(client.Object)
		switch {
		case life.Finished && group.GetAnnotations()[told] == "":
			changed.SetAnnotations(map[string]string{told: life.Message})
			changed.SetFinalizers(nil)
		case group.GetDeletionTimestamp() != nil && life.PodsLeft == 0 && slices.Contains(group.GetFinalizers(), guard),
			life.Gone && life.PodsLeft == 0 && len(group.GetFinalizers()) > 0:
			changed.SetFinalizers(nil)
		default:
			continue
		}
		writes = append(writes, scheduler.Write{Base: group, Object: changed, Why: "test"})
	}
	return writes
}

func newGuardingWorld(t *testing.T) *world {
	w := newWorld(t, bert(2))
	w.r.availability.backends = []scheduler.Backend{guarding{native.New(native.Options{})}}
	w.wants("queued", queued...)
	w.wants("created", "create PodGroup bert-1", "create Service bert", "create Pod bert-worker-0", "create Pod bert-worker-1")
	w.sync()
	w.setPods(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning })
	w.sync()
	if _, _, err := w.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) group() *schedulingv1alpha2.PodGroup {
	w.t.Helper()
	groups := &schedulingv1alpha2.PodGroupList{}
	if err := w.store.List(w.t.Context(), groups); err != nil {
		w.t.Fatal(err)
	}
	if len(groups.Items) != 1 {
		w.t.Fatalf("there are %d groups", len(groups.Items))
	}
	return &groups.Items[0]
}

func TestSchedulerIsToldOnceThatTheGangHasEnded(t *testing.T) {
	w := newGuardingWorld(t)
	w.setPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	w.sync()
	w.wants("success is written first", "patch TrainingJob/status bert", "event Completed")
	w.wants("the group stays and learns of it", "delete Service bert", "patch PodGroup bert-1")
	w.sync()
	w.wants("once")
	if got := w.group().Annotations[told]; got != "2/2 ranks succeeded" {
		t.Errorf("the scheduler was told %q", got)
	}
}

// While a pod of a deleted job may still run, its group holds the quota; after that nobody but us would free it.
func TestGroupOfADeletedJobIsLetGoWithItsLastPod(t *testing.T) {
	w := newGuardingWorld(t)
	for _, obj := range []client.Object{w.job(), w.group()} { // kubectl delete, and the garbage collector
		if err := w.store.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w.sync()
	w.wants("two pods may still run")
	if w.group().DeletionTimestamp == nil {
		t.Fatal("the group is not being deleted: the test proves nothing")
	}
	if err := w.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	w.sync()
	w.wants("the last pod is gone", "patch PodGroup bert-1")
	w.sync()
	w.wants("and nothing is left to do")
	if left := w.r.ledger.ownersOf(types.NamespacedName{Namespace: "default", Name: "bert"}); len(left) > 0 {
		// The Service is the garbage collector's.
		if all, _, _ := w.r.ledger.holdings(left[0]); len(all) != 1 || all[0].gvk != serviceKind {
			t.Errorf("the ledger still holds %v", all)
		}
	}
}

// The same where a new job has taken the name meanwhile.
func TestGroupOfTheFormerJobIsLetGo(t *testing.T) {
	w := newGuardingWorld(t)
	group := w.group()
	if err := w.store.Delete(t.Context(), w.job()); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if err := w.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	next := bert(2)
	next.UID = "uid-next"
	if err := w.store.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	w.sync()
	w.wants("the former one's group goes first", append([]string{"patch PodGroup bert-1"}, queued...)...)
}

// A cache of jobs that is behind that of groups must not make a job look gone.
func TestJobThatTheCacheDoesNotShowKeepsItsGroup(t *testing.T) {
	w := newGuardingWorld(t)
	live := w.job()
	if err := w.store.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(t.Context(), w.job()); err != nil {
		t.Fatal(err)
	}
	w.uncached = live
	w.sync()
	if result := w.wants("it exists, says the API server"); result.RequeueAfter != soon {
		t.Errorf("it looks again after %v", result.RequeueAfter)
	}
	if !slices.Contains(w.group().Finalizers, guard) {
		t.Error("the group was let go")
	}
}
