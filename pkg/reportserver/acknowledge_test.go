package reportserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// postAsync posts in the background.
func (e *environment) postAsync(r request) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() { done <- e.do(r) }()
	return done
}

// awaitWaiter returns once a handler waits for the write of a commit.
func (e *environment) awaitWaiter() {
	e.t.Helper()
	eventually(e.t, "the commit's write is waited for", func() bool {
		e.server.changes.mu.Lock()
		defer e.server.changes.mu.Unlock()
		return len(e.server.changes.subscriptions) == 1
	})
}

func (e *environment) expectNoWaiters() {
	e.t.Helper()
	e.server.changes.mu.Lock()
	defer e.server.changes.mu.Unlock()
	if len(e.server.changes.subscriptions) != 0 {
		e.t.Errorf("still waited for: %v", e.server.changes.subscriptions)
	}
}
func receive(t *testing.T, done <-chan *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	t.Helper()
	select {
	case rec := <-done:
		return rec
	case <-time.After(patience):
		t.Fatal("no answer")
		return nil
	}
}

// TestCommitIsAcknowledgedWhenItIsWritten, and not when the job changes in another way. The clock stands
// still, so the job's change ends the wait.
func TestCommitIsAcknowledgedWhenItIsWritten(t *testing.T) {
	e := newEnvironment(t)
	done := e.postAsync(post(saved))
	e.awaitWaiter()
	if diff := cmp.Diff([]string{"bert"}, e.woken()); diff != "" {
		t.Errorf("the reconciler (-want +got):\n%s", diff)
	}
	if c := e.received().commit; c == nil || c.Step != 90 || c.attempt != 2 ||
		c.URI != bertDir+"/attempt-2/step-90" {
		t.Errorf("the commit is %+v", c)
	}
	e.write(80)
	e.awaitWaiter()
	select {
	case rec := <-done:
		t.Fatalf("acknowledged before the write: %d", rec.Code)
	default:
	}
	change(e, "bert", func(j *v1alpha1.TrainingJob) { // the write, and what the reconciler asks for by then
		setCommit(j, 90)
		ask(j, "c1")
	})
	rec := receive(t, done)
	answer, err := checkpoint.ParseAnswer(rec.Body.Bytes())
	if rec.Code != 200 || err != nil {
		t.Fatalf("got %d, %v", rec.Code, err)
	}
	if diff := cmp.Diff(&checkpoint.Answer{Command: checkpoint.CommandCheckpointAndExit, ID: "c1", Attempt: 2,
		MinIntervalSeconds: 10}, answer); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	e.expectNoWaiters()
	e.expect(post(saved), 200, "Checkpoint") // the agent repeats it, and no request waits, no job is woken
	if names := e.woken(); len(names) > 0 {
		t.Errorf("woken for what is written: %v", names)
	}
}

// TestCommitThatIsNotWritten: the agent gets a response in time and repeats the commit, and the reconciler is
// woken again.
func TestCommitThatIsNotWritten(t *testing.T) {
	e := newEnvironment(t)
	for range 2 {
		done := e.postAsync(post(saved))
		e.awaitWaiter()
		e.clock.Step(commitWait - time.Millisecond)
		select {
		case rec := <-done:
			t.Fatalf("gave up too early: %d", rec.Code)
		default:
		}
		e.clock.Step(time.Millisecond)
		rec := receive(t, done)
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "1" ||
			text(rec.Body) != "stored, not yet written: report again" {
			t.Errorf("got %d %v", rec.Code, rec.Header())
		}
		e.expectNoWaiters()
		if diff := cmp.Diff([]string{"bert"}, e.woken()); diff != "" {
			t.Errorf("the reconciler (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]float64{resultUnwritten: 2}, e.counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestNewLeaderLosesNoCommit: a commit that the old leader did not write is repeated to the new one.
func TestNewLeaderLosesNoCommit(t *testing.T) {
	e := newEnvironment(t)
	done := e.postAsync(post(saved))
	e.awaitWaiter()
	e.clock.Step(commitWait)
	if rec := receive(t, done); rec.Code != 503 {
		t.Fatalf("got %d", rec.Code)
	}
	e.restart()
	if _, known := e.store.Latest("uid-bert"); known {
		t.Fatal("the new leader knows it already")
	}
	done = e.postAsync(post(saved))
	e.awaitWaiter()
	if diff := cmp.Diff([]string{"bert"}, e.woken()); diff != "" {
		t.Errorf("the reconciler (-want +got):\n%s", diff)
	}
	e.write(90)
	if rec := receive(t, done); rec.Code != 200 {
		t.Errorf("got %d %s", rec.Code, text(rec.Body))
	}
}

// TestWaitEnds when the job is gone, when another job has its name, and when the agent hangs up.
func TestWaitEnds(t *testing.T) {
	t.Run("the job is gone", func(t *testing.T) {
		e := newEnvironment(t)
		done := e.postAsync(post(saved))
		e.awaitWaiter()
		job := e.cache.find(new(*v1alpha1.TrainingJob), "bert")
		e.cache.drop(job)
		e.cache.informer.Delete(job)
		if rec := receive(t, done); rec.Code != 403 ||
			!strings.Contains(text(rec.Body), "TrainingJob bert is deleted") {
			t.Errorf("got %d", rec.Code)
		}
		if _, known := e.store.Latest("uid-bert"); known {
			t.Error("it is remembered")
		}
	})
	t.Run("another job has its name", func(t *testing.T) {
		e := newEnvironment(t)
		done := e.postAsync(post(saved))
		e.awaitWaiter()
		before := e.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob)
		after := newJob("bert", "uid-2", 2)
		setCommit(after, 90)
		e.cache.put(after)
		e.cache.informer.Update(before, before)
		if rec := receive(t, done); rec.Code != 403 {
			t.Errorf("got %d", rec.Code)
		}
	})
	t.Run("the agent hangs up", func(t *testing.T) {
		e := newEnvironment(t)
		ctx, hangUp := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+Path,
			strings.NewReader(saved))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer bert-worker-0")
		done := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			rec := httptest.NewRecorder()
			e.server.ServeHTTP(rec, req)
			done <- rec
		}()
		e.awaitWaiter()
		hangUp()
		receive(t, done)
		e.expectNoWaiters()
	})
}

// TestReportsInFlightAreBounded: a report that waits for a write counts, whatever connection it came by.
func TestReportsInFlightAreBounded(t *testing.T) {
	e := newEnvironment(t)
	var waiting []<-chan *httptest.ResponseRecorder
	for range maxInFlightPerPod {
		waiting = append(waiting, e.postAsync(post(saved)))
	}
	eventually(t, "all of them wait", func() bool {
		e.server.changes.mu.Lock()
		defer e.server.changes.mu.Unlock()
		r := e.server.changes.subscriptions["uid-bert"]
		return r != nil && r.subscribers == maxInFlightPerPod
	})
	e.expect(post(saved), 429, "send one at a time")
	e.write(90)
	for _, done := range waiting {
		if rec := receive(t, done); rec.Code != 200 {
			t.Errorf("got %d", rec.Code)
		}
	}
	e.expect(post(saved), 200, "None")
	if n := len(e.server.handler.inFlight.pods); n != 0 {
		t.Errorf("%d pods are still counted", n)
	}
}

// TestResolver: the operator reads its result from its pod's termination message. So its report is
// answered at once, also that there is no checkpoint, and it is no progress, no commit and no news.
func TestResolver(t *testing.T) {
	for _, body := range []string{resolved, `{"attempt":2,"phase":"Resolved"}`} {
		e := newEnvironment(t)
		e.resolver()
		ask(e.cache.find(new(*v1alpha1.TrainingJob), "bert").(*v1alpha1.TrainingJob), "c1")
		if rec := e.do(post(body)); rec.Code != 200 || text(rec.Body) != `{"command":"None"}` {
			t.Errorf("a resolver is given no command: got %d %s", rec.Code, text(rec.Body))
		}
		if _, known := e.store.Latest("uid-bert"); known || e.received().commit != nil {
			t.Errorf("got %+v", e.received())
		}
		if names := e.woken(); len(names) > 0 {
			t.Errorf("woken for %v", names)
		}
	}
}

// TestAttemptThatIsOver adds its last commit, but no step, and gets no command. Its commit is settled, so
// no request waits.
func TestAttemptThatIsOver(t *testing.T) {
	e := newEnvironment(t)
	e.expect(post(strings.Replace(training, `"step":100`, `"step":95`, 1)), 200, "None")
	change(e, "bert", func(j *v1alpha1.TrainingJob) {
		j.Status.Attempt = 3
		ask(j, "for-attempt-3")
	})
	if rec := e.do(post(saved)); rec.Code != 200 || text(rec.Body) != `{"command":"None"}` {
		t.Errorf("got %d %s", rec.Code, text(rec.Body))
	}
	if r := e.received(); r.commit == nil || r.commit.Step != 90 || r.report.Step != 95 {
		t.Errorf("got %+v", r)
	}
}

// TestInvalidAnswer: a job whose command cannot be encoded is an internal error.
func TestInvalidAnswer(t *testing.T) {
	e := newEnvironment(t)
	change(e, "bert", func(j *v1alpha1.TrainingJob) {
		ask(j, "a b")
	})
	e.expect(post(training), 500, "see its log")
}
