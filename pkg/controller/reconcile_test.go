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
)

var (
	queued  = []string{"patch TrainingJob/status bert", "event Queued"}
	created = []string{"create PodGroup bert-1", "create Service bert", "create Pod bert-worker-0", "create Pod bert-worker-1"}
)

func TestTransitionIsWrittenAloneAndEventsAfterIt(t *testing.T) {
	w := newWorld(t, bert(2))
	w.wants("a transition is written alone, its event after it", queued...)
	w.wants("the next pass acts, and the status has nothing new", created...)
	w.wants("the watch shows nothing yet: the overlay does")
	w.sync()
	w.wants("the watch shows it")
	w.setPods(func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
	})
	w.sync()
	w.wants("running", "patch TrainingJob/status bert", "event GangRunning")
	for range 10 {
		w.wants("a settled job writes nothing")
	}
}

func TestNoEventWithoutPersistence(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "trainingjobs"}, "bert", errors.New("changed"))
	w := newWorld(t, bert(2))
	w.refuse = func(string) error { return conflict }
	if result := w.wants("a conflict is silent", "patch TrainingJob/status bert: refused"); result.RequeueAfter != soon {
		t.Errorf("a conflict is tried again soon, got %v", result)
	}
	w.refuse = nil
	w.wants("and then written", queued...)
}

func TestTransientErrorIsReturnedAndStatusStillWritten(t *testing.T) {
	w := newWorld(t, bert(2))
	w.wants("queued", queued...)
	w.refuse = func(write string) error {
		if strings.HasPrefix(write, "create Pod ") {
			return apierrors.NewTimeoutError("slow", 1)
		}
		return nil
	}
	if _, _, err := w.pass(t.Context()); !apierrors.IsTimeout(err) {
		t.Errorf("controller-runtime retries what is returned, got %v", err)
	}
	w.refuse = nil
	w.wants("only what is missing is made", created[2:]...)
}

func TestStaleJobIsLeftAlone(t *testing.T) {
	w := newWorld(t, bert(2))
	before := w.job()
	w.wants("queued", queued...)
	w.cached = before
	w.wants("the cache does not show our own write: nothing is done, least of all queued again")
	w.cached = nil
	w.wants("it does", created...)
}

func TestFirstCreateReadsTheJobUncached(t *testing.T) {
	w := newWorld(t, bert(2))
	w.wants("queued", queued...)
	w.uncached = w.job()
	w.uncached.Status.Attempt = 2
	if result := w.wants("another leader has made attempt 2: nothing is created for attempt 1"); result.RequeueAfter != soon {
		t.Errorf("it is looked at again soon, got %v", result)
	}
	w.uncached = nil
	w.wants("confirmed", created...)
}

func TestLostLeaseCancelsCreates(t *testing.T) {
	w := newWorld(t, bert(2))
	w.wants("queued", queued...)
	ctx, cancel := context.WithCancel(t.Context())
	w.refuse = func(write string) error {
		if write == "create Service bert" {
			cancel()
		}
		return nil
	}
	did, _, _ := w.pass(ctx)
	for _, d := range did {
		if strings.HasPrefix(d, "create Pod ") {
			t.Errorf("created after the lease was lost: %s", d)
		}
	}
}

func TestDeletedPodIsDeletedOnce(t *testing.T) {
	w := newWorld(t, bert(2))
	w.wants("queued", queued...)
	w.wants("created", created...)
	w.sync()
	job := w.job()
	job.Spec.RunPolicy.Suspend = new(true)
	if err := w.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.wants("suspend drains", "patch TrainingJob/status bert", "event Suspended")
	w.wants("the ranks are deleted", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
	w.wants("the watch still shows them: they are not deleted again")
	w.sync()
	w.wants("they are gone", "patch TrainingJob/status bert", "event Suspended")
	w.wants("a suspended job holds nothing", "delete PodGroup bert-1")
	w.wants("nor is the group deleted twice")
}

func TestJobThatGoesIsLeftAlone(t *testing.T) {
	job := bert(2)
	job.Finalizers = []string{"somebody.example.com/waits"}
	job.DeletionTimestamp = &metav1.Time{Time: start}
	newWorld(t, job).wants("the garbage collector owns it")
}

func TestTimeToLive(t *testing.T) {
	job := bert(1)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	done := metav1.NewTime(start)
	job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseSucceeded, Attempt: 1, CompletionTime: &done}
	w := newWorld(t, job)
	if _, result, err := w.pass(t.Context()); err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("it wakes when the time is over, got %v, %v", result, err)
	}
	w.clock.Step(time.Minute)
	w.wants("and deletes the job, whose status is of no use any more", "delete TrainingJob bert")
}

// BenchmarkSettledPass is what every event of a job that runs costs.
func BenchmarkSettledPass(b *testing.B) {
	for _, ranks := range []int32{8, 1000} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			w := newWorld(b, bert(ranks))
			ctx := b.Context()
			for range 2 {
				if _, _, err := w.pass(ctx); err != nil {
					b.Fatal(err)
				}
			}
			w.cached = &v1alpha1.TrainingJob{}
			if err := w.store.Get(ctx, bertName, w.cached); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if did, _, err := w.pass(ctx); err != nil || len(did) > 0 {
					b.Fatal(did, err)
				}
			}
		})
	}
}
