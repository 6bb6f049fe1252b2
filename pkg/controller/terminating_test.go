package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// keeper is a foreign finalizer, such as that of a server that has not recorded the job yet.
const keeper = "example.com/keeps"

// heldJob is a gang of two that runs, whose job is then deleted and held by a finalizer.
func heldJob(t *testing.T, finalizer string) *fixture {
	t.Helper()
	job := bert(2)
	job.Finalizers = []string{finalizer}
	f := newFixture(t, job)
	f.wants("queued", queued...)
	f.wants("created", "create PodGroup bert-1", "create Service bert", "create Pod bert-worker-0",
		"create Pod bert-worker-1")
	f.sync()
	f.setPods(func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning })
	f.sync()
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Delete(t.Context(), f.job()); err != nil {
		t.Fatal(err)
	}
	if f.job().DeletionTimestamp == nil {
		t.Fatal("the job is not held: the test proves nothing")
	}
	return f
}

func TestRanksOfAJobThatIsHeldAreEnded(t *testing.T) {
	f := heldJob(t, keeper)
	f.wants("its ranks first", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
	f.wants("once")
	f.sync()
	f.wants("then what keeps its place", "delete PodGroup bert-1")
	f.sync()
	f.wants("and nothing more")
}

// A rank that has ended is part of what its user may still look at; it goes with the job.
func TestEndedRanksOfAJobThatIsHeldStay(t *testing.T) {
	f := heldJob(t, keeper)
	f.setPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	f.sync()
	f.wants("no rank runs", "delete PodGroup bert-1")
	f.sync()
	f.wants("and nothing more")
}

func TestRanksOfAnOrphaningDeletionStay(t *testing.T) {
	f := heldJob(t, metav1.FinalizerOrphanDependents)
	f.wants("the user keeps them")
}

// The operator reports to the scheduler once that no rank is left; the scheduler then frees the quota.
func TestGroupOfAJobThatIsHeldIsReleasedWithItsLastPod(t *testing.T) {
	f := newFinalizerFixture(t)
	job := f.job()
	job.Finalizers = []string{keeper}
	for _, change := range []func() error{
		func() error { return f.store.Update(t.Context(), job) },
		func() error { return f.store.Delete(t.Context(), f.job()) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	f.wants("its ranks first", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
	f.sync()
	f.wants("the release with the last", "patch PodGroup bert-1")
	f.sync()
	f.wants("once")
	job = &v1alpha1.TrainingJob{}
	if err := f.store.Get(t.Context(), client.ObjectKeyFromObject(bert(2)), job); err != nil {
		t.Errorf("the job must stay as long as it is held: %v", err)
	}
}
