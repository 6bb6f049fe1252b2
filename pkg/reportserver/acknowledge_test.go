package reportserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// later posts in the background.
func (w *world) later(r request) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- w.do(r) }()
	return done
}

// waits until a report's handler waits for the write.
func (w *world) waits() {
	w.t.Helper()
	eventually(w.t, "the commit's write is waited for", func() bool {
		w.server.changes.mu.Lock()
		defer w.server.changes.mu.Unlock()
		return len(w.server.changes.waiting) == 1
	})
}

func (w *world) noWaiters() {
	w.t.Helper()
	w.server.changes.mu.Lock()
	defer w.server.changes.mu.Unlock()
	if len(w.server.changes.waiting) != 0 {
		w.t.Errorf("still waited for: %v", w.server.changes.waiting)
	}
}

func got(t *testing.T, done <-chan *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	t.Helper()
	select {
	case rec := <-done:
		return rec
	case <-time.After(patience):
		t.Fatal("no answer")
		return nil
	}
}

// TestCommitIsAcknowledgedWhenItIsWritten, and not by a change of the job that does not hold it. The clock stands still: it is the
// job's change that ends the wait.
func TestCommitIsAcknowledgedWhenItIsWritten(t *testing.T) {
	w := newWorld(t)
	done := w.later(post(saved))
	w.waits()
	if diff := cmp.Diff([]string{"bert"}, w.woken()); diff != "" {
		t.Errorf("the reconciler (-want +got):\n%s", diff)
	}
	if c := w.latest().Commit; c == nil || c.Step != 90 || c.Attempt != 2 || c.URI != "pvc://data/bert/attempt-2/step-90" {
		t.Errorf("the commit is %+v", c)
	}
	w.write("bert", "2/80")
	w.waits()
	select {
	case rec := <-done:
		t.Fatalf("acknowledged before the write: %d", rec.Code)
	default:
	}
	change(w, "bert", func(j *v1alpha1.TrainingJob) { // the write, and what the reconciler asks for by then
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, writtenTo, "2/90")
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, "test/command", "c1")
	})
	rec := got(t, done)
	answer, err := checkpoint.ParseAnswer(rec.Body.Bytes())
	if rec.Code != 200 || err != nil {
		t.Fatalf("got %d, %v", rec.Code, err)
	}
	if diff := cmp.Diff(&checkpoint.Answer{Command: checkpoint.CommandCheckpoint, ID: "c1", MinIntervalSeconds: 15}, answer); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	w.noWaiters()
	w.says(post(saved), 200, "Checkpoint") // the agent repeats it, and nobody waits or is woken
	if names := w.woken(); len(names) > 0 {
		t.Errorf("woken for what is written: %v", names)
	}
}

// TestCommitThatIsNotWritten: the agent hears so in time, repeats it, and the reconciler is woken again.
func TestCommitThatIsNotWritten(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		done := w.later(post(saved))
		w.waits()
		w.clock.Step(ackWait - time.Millisecond)
		select {
		case rec := <-done:
			t.Fatalf("gave up too early: %d", rec.Code)
		default:
		}
		w.clock.Step(time.Millisecond)
		rec := got(t, done)
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "1" || text(rec.Body) != "taken, not yet written: report again" {
			t.Errorf("got %d %v", rec.Code, rec.Header())
		}
		w.noWaiters()
		if diff := cmp.Diff([]string{"bert"}, w.woken()); diff != "" {
			t.Errorf("the reconciler (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]float64{resultUnwritten: 2}, w.counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestNewLeaderLosesNoCommit: what the old one took and did not write is repeated to the new one.
func TestNewLeaderLosesNoCommit(t *testing.T) {
	w := newWorld(t)
	done := w.later(post(saved))
	w.waits()
	w.clock.Step(ackWait)
	if rec := got(t, done); rec.Code != 503 {
		t.Fatalf("got %d", rec.Code)
	}
	w.restart()
	if _, known := w.inbox.Latest("uid-bert"); known {
		t.Fatal("the new leader knows it already")
	}
	done = w.later(post(saved))
	w.waits()
	if diff := cmp.Diff([]string{"bert"}, w.woken()); diff != "" {
		t.Errorf("the reconciler (-want +got):\n%s", diff)
	}
	w.write("bert", "2/90")
	if rec := got(t, done); rec.Code != 200 {
		t.Errorf("got %d %s", rec.Code, text(rec.Body))
	}
}

// TestWaitEnds when the job is gone, when another has its name, and when the agent hangs up.
func TestWaitEnds(t *testing.T) {
	t.Run("the job is gone", func(t *testing.T) {
		w := newWorld(t)
		done := w.later(post(saved))
		w.waits()
		job := w.cache.find(new(*v1alpha1.TrainingJob), "bert")
		w.cache.drop(job)
		w.cache.informer.Delete(job)
		if rec := got(t, done); rec.Code != 403 || !strings.Contains(text(rec.Body), "TrainingJob bert is gone") {
			t.Errorf("got %d", rec.Code)
		}
		if _, known := w.inbox.Latest("uid-bert"); known {
			t.Error("it is remembered")
		}
	})
	t.Run("another job has its name", func(t *testing.T) {
		w := newWorld(t)
		done := w.later(post(saved))
		w.waits()
		before := w.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob)
		after := newJob("bert", "uid-2", 2)
		metav1.SetMetaDataAnnotation(&after.ObjectMeta, writtenTo, "2/90")
		w.cache.put(after)
		w.cache.informer.Update(before, before)
		if rec := got(t, done); rec.Code != 403 {
			t.Errorf("got %d", rec.Code)
		}
	})
	t.Run("the agent hangs up", func(t *testing.T) {
		w := newWorld(t)
		ctx, hangUp := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+Path, strings.NewReader(saved))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer bert-worker-0")
		done := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			rec := httptest.NewRecorder()
			w.server.ServeHTTP(rec, req)
			done <- rec
		}()
		w.waits()
		hangUp()
		got(t, done)
		w.noWaiters()
	})
}

// TestOneReportAtATime: who waits for a write holds one of its pod's places, whatever connection it came by.
func TestOneReportAtATime(t *testing.T) {
	w := newWorld(t)
	var waiting []<-chan *httptest.ResponseRecorder
	for range podAtOnce {
		waiting = append(waiting, w.later(post(saved)))
	}
	eventually(t, "all of them wait", func() bool {
		w.server.changes.mu.Lock()
		defer w.server.changes.mu.Unlock()
		r := w.server.changes.waiting["uid-bert"]
		return r != nil && r.waiters == podAtOnce
	})
	w.says(post(saved), 429, "send one at a time")
	w.write("bert", "2/90")
	for _, done := range waiting {
		if rec := got(t, done); rec.Code != 200 {
			t.Errorf("got %d", rec.Code)
		}
	}
	w.says(post(saved), 200, "None")
	if n := len(w.server.atOnce.pods); n != 0 {
		t.Errorf("%d pods are still counted", n)
	}
}

// TestResolver: its result is waited for like a commit, also that there is none, and it is no progress.
func TestResolver(t *testing.T) {
	for _, body := range []string{resolved, `{"attempt":2,"phase":"Resolved"}`} {
		w := newWorld(t)
		w.resolver()
		metav1.SetMetaDataAnnotation(&w.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob).ObjectMeta, "test/command", "c1")
		done := w.later(post(body))
		w.waits()
		if r := w.latest(); r.Resolved == nil || r.Report != nil || r.Commit != nil || !r.ResolvedTime.Equal(start) {
			t.Errorf("got %+v", r)
		}
		if diff := cmp.Diff([]string{"bert"}, w.woken()); diff != "" {
			t.Errorf("the reconciler (-want +got):\n%s", diff)
		}
		w.write("bert", "resolved")
		if rec := got(t, done); rec.Code != 200 || text(rec.Body) != `{"command":"None"}` {
			t.Errorf("a resolver is given no command: got %d %s", rec.Code, text(rec.Body))
		}
	}
}

// TestAttemptThatIsOver adds its last commit, and neither its steps nor a command come with it.
func TestAttemptThatIsOver(t *testing.T) {
	w := newWorld(t)
	w.says(post(strings.Replace(training, `"step":100`, `"step":95`, 1)), 200, "None")
	change(w, "bert", func(j *v1alpha1.TrainingJob) {
		j.Status.Attempt = 3
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, "test/command", "for-attempt-3")
	})
	done := w.later(post(saved))
	w.waits()
	if r := w.latest(); r.Commit == nil || r.Commit.Step != 90 || r.Report.Step != 95 {
		t.Errorf("got %+v", r)
	}
	w.write("bert", "2/90")
	if rec := got(t, done); rec.Code != 200 || text(rec.Body) != `{"command":"None"}` {
		t.Errorf("got %d %s", rec.Code, text(rec.Body))
	}
}

// TestAnswerThatIsNoAnswer is our fault and is said as such.
func TestAnswerThatIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	change(w, "bert", func(j *v1alpha1.TrainingJob) {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, "test/command", "a b")
	})
	w.says(post(training), 500, "see its log")
}
