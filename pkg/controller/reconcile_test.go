package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

var (
	queued  = []string{"patch TrainingJob/status bert"}
	created = []string{
		"create PodGroup bert-1", "create Service bert", "create Pod bert-worker-0", "create Pod bert-worker-1",
	}
)

func TestTransitionIsWrittenAloneAndEventsAfterIt(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("a transition is written alone, its event after it", queued...)
	f.wants("the next reconcile acts, and the status has nothing new", created...)
	f.wants("the watch shows nothing yet: the overlay does")
	f.sync()
	f.wants("the watch shows it")
	f.setPods(func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
	})
	f.sync()
	f.wants("running", "patch TrainingJob/status bert", "event GangRunning")
	for range 10 {
		f.wants("a settled job writes nothing")
	}
}

func TestNoEventWithoutPersistence(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "trainingjobs"}, "bert",
		errors.New("changed"))
	f := newFixture(t, bert(2))
	f.reject = func(string) error { return conflict }
	result := f.wants("a conflict is silent", "patch TrainingJob/status bert: rejected")
	if result.RequeueAfter != conflictRequeue {
		t.Errorf("a conflict is tried again soon, got %v", result)
	}
	f.reject = nil
	f.wants("and then written", queued...)
}

func TestTransientErrorIsReturnedAndStatusStillWritten(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create Pod ") {
			return apierrors.NewTimeoutError("slow", 1)
		}
		return nil
	}
	if _, _, err := f.reconcile(t.Context()); !apierrors.IsTimeout(err) {
		t.Errorf("controller-runtime retries what is returned, got %v", err)
	}
	f.reject = nil
	f.wants("only what is missing is made", created[2:]...)
}

func TestStaleJobIsLeftAlone(t *testing.T) {
	f := newFixture(t, bert(2))
	before := f.job()
	f.wants("queued", queued...)
	f.cached = before
	f.wants("the cache does not show our own write: nothing is done, least of all queued again")
	f.cached = nil
	f.wants("it does", created...)
}

func TestFirstCreateReadsTheJobUncached(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.dependencies.states.Now = func() time.Time { return time.Now().Add(memory.WriteConfirms) }
	f.uncached = f.job()
	f.uncached.Status.Attempt = 2
	result := f.wants("another leader has made attempt 2: nothing is created for attempt 1")
	if result.RequeueAfter != conflictRequeue {
		t.Errorf("it is looked at again soon, got %v", result)
	}
	f.uncached = nil
	f.wants("confirmed", created...)
}

func TestCreateAfterOurOwnWriteReadsNothing(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.uncached = f.job()
	f.uncached.Status.Attempt = 2 // what a read would show
	f.wants("the write of the attempt has just been taken", created...)
}

func TestLostLeaseCancelsCreates(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	ctx, cancel := context.WithCancel(t.Context())
	f.reject = func(write string) error {
		if write == "create Service bert" {
			cancel()
		}
		return nil
	}
	did, _, _ := f.reconcile(ctx)
	for _, d := range did {
		if strings.HasPrefix(d, "create Pod ") {
			t.Errorf("created after the lease was lost: %s", d)
		}
	}
}

func TestDeletedPodIsDeletedOnce(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.wants("created", created...)
	f.sync()
	job := f.job()
	job.Spec.RunPolicy.Suspend = new(true)
	if err := f.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	f.wants("suspend drains", "patch TrainingJob/status bert", "event Suspended")
	f.wants("the ranks are deleted", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
	f.wants("the watch still shows them: they are not deleted again")
	f.sync()
	f.wants("they are gone", "patch TrainingJob/status bert", "event Suspended")
	f.wants("a suspended job holds nothing", "delete PodGroup bert-1")
	f.wants("nor is the group deleted twice")
}

func TestJobThatGoesIsLeftAlone(t *testing.T) {
	job := bert(2)
	job.Finalizers = []string{"other.example.com/waits"}
	job.DeletionTimestamp = &metav1.Time{Time: start}
	newFixture(t, job).wants("the garbage collector owns it")
}

func TestTimeToLive(t *testing.T) {
	job := bert(1)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	done := metav1.NewTime(start)
	job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseSucceeded, Attempt: 1, CompletionTime: &done}
	f := newFixture(t, job)
	if _, result, err := f.reconcile(t.Context()); err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("it wakes when the time is over, got %v, %v", result, err)
	}
	f.clock.Step(time.Minute)
	f.wants("and deletes the job, without a write of its status", "delete TrainingJob bert")
}

// BenchmarkSettledReconcile is what every event of a job that runs costs.
func BenchmarkSettledReconcile(b *testing.B) {
	for _, ranks := range []int32{8, 1000} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			f := newFixture(b, bert(ranks))
			ctx := b.Context()
			step := func() []string {
				did, _, err := f.reconcile(ctx)
				if err != nil {
					b.Fatal(err)
				}
				f.sync()
				return did
			}
			for range 2 { // queued, created
				step()
			}
			f.sync()
			f.runs()
			for range 3 { // runs, has names, is counted
				f.clock.Step(time.Minute)
				step()
			}
			if named := len(f.names()); named != int(ranks) {
				b.Fatalf("%d ranks have names", named)
			}
			b.ReportAllocs()
			for b.Loop() {
				if did, _, err := f.reconcile(ctx); err != nil || len(did) > 0 {
					b.Fatal(did, err)
				}
			}
		})
	}
}

// TestInvalidSpecKeepsTheGroup: an edit that no rule of the CRD sees, or an operator with stricter rules,
// makes the spec of a running gang invalid. What its group should look like is then not known, which is not
// the same as no group.
func TestInvalidSpecKeepsTheGroup(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("it is queued", "patch TrainingJob/status bert")
	f.sync()
	f.wants("its gang is created", "create PodGroup bert-1", "create Service bert",
		"create Pod bert-worker-0", "create Pod bert-worker-1")
	f.sync()
	f.setPods(func(p *corev1.Pod) {
		p.Spec.NodeName = "node-" + p.Name
		p.Status.Phase = corev1.PodRunning
	})
	f.sync()
	f.wants("it runs", "patch TrainingJob/status bert", "event GangRunning")
	job := f.job()
	job.Labels = map[string]string{v1alpha1.LabelKueueQueue: "research"}
	job.Annotations = map[string]string{v1alpha1.AnnotationVolcanoQueue: "other"}
	if err := f.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.clock.Step(time.Minute)
	f.wants("the blocker says so, and nothing is deleted", "patch TrainingJob/status bert", "event InvalidSpec")
	f.sync()
	f.wants("nothing more")
	if b := f.job().Status.Scheduling.Blocker; b == nil || b.Reason != v1alpha1.ReasonInvalidSpec {
		t.Errorf("the blocker is %+v", b)
	}
}
