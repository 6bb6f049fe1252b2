package board

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

func running(message string) func(*v1alpha1.TrainingJob) {
	return func(job *v1alpha1.TrainingJob) {
		job.Status.Phase, job.Status.Message = v1alpha1.PhaseRunning, message
	}
}

func (b *browser) shows(container, text string) func() bool {
	return func() bool {
		_, html := b.shown(container)
		return strings.Contains(html, text)
	}
}

// digestOf a page, as the page has it.
func (s *server) digestOf(path string) string {
	s.t.Helper()
	_, after, _ := strings.Cut(s.get(path).body, `data-state="`)
	digest, _, _ := strings.Cut(after, `"`)
	if digest == "" {
		s.t.Fatal("the page has no digest")
	}
	return digest
}

// TestUpdates: a browser that shows the page is sent what changes, and nothing else.
func TestUpdates(t *testing.T) {
	s := newServer(t, newJob("a", "bert", inPhase(v1alpha1.PhaseQueued)), newJob("a", "gpt", running("trains")))
	b := s.open("ann", mainJobs, s.digestOf(mainJobs))
	s.soon("it has rendered the page again", func() bool {
		again := false
		s.api.locked(func() { again = s.api.lists > 3 })
		return again
	})
	if n := len(b.patches()); n != 0 {
		t.Fatalf("%d patches though nothing has changed", n)
	}
	s.api.set("bert", running("runs at last"))
	s.soon("the change is sent", func() bool { return len(b.patches()) == 1 })
	if p := b.patches()[0]; !strings.Contains(p.Set["job-uid-bert"], "runs at last") || p.All ||
		p.Set["job-uid-gpt"] != "" || p.Set["count-queued"] != "" {
		t.Errorf("sent %+v", p)
	}
}

// TestOnlyChangesAreSent: of two rows the one that has changed, and no order where it is the same.
func TestOnlyChangesAreSent(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")), newJob("a", "gpt", running("two")))
	b := s.open("ann", mainJobs, "")
	s.soon("the page is shown", b.shows("jobs", "two"))
	s.api.set("gpt", running("three"))
	s.soon("the change is shown", b.shows("jobs", "three"))
	patches := b.patches()
	last := patches[len(patches)-1]
	if len(patches) != 2 || len(last.Set) != 1 || last.Set["job-uid-gpt"] == "" ||
		len(last.Order)+len(last.Move) != 0 {
		t.Errorf("sent %+v", last)
	}
	s.api.change(func() { s.api.jobs = s.api.jobs[1:] })
	s.soon("the row is gone", func() bool { return !b.shows("jobs", "bert")() })
	last = b.patches()[len(b.patches())-1]
	if !slices.Equal(last.Gone, []string{"job-uid-bert"}) || last.Set["job-uid-gpt"] != "" {
		t.Errorf("sent %+v", last)
	}
}

// TestUpdatesAreCoalesced: however much happens, a page is rendered at most once in an interval.
func TestUpdatesAreCoalesced(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("0")))
	b := s.open("ann", mainJobs, "")
	eventually(t, "the page is shown", b.shows("jobs", ">0<"))
	for n := range 50 {
		s.api.set("bert", running(fmt.Sprint("step ", n+1)))
	}
	eventually(t, "it has received all events", func() bool {
		waiting := 0
		s.api.locked(func() {
			for changes := range s.api.followers {
				waiting += len(changes)
			}
		})
		return waiting == 0
	})
	s.api.locked(func() {
		if s.api.lists != 1 {
			t.Errorf("it was rendered %d times before the interval was over", s.api.lists)
		}
	})
	s.soon("the last change is shown", b.shows("jobs", "step 50"))
	if n := len(b.patches()); n != 2 {
		t.Errorf("%d patches, want the page and the last change", n)
	}
}

// TestLostConnection: a browser that was away is brought to what is so now, whatever it has missed; where it
// has missed nothing it is sent nothing.
func TestLostConnection(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")), newJob("a", "gpt", running("two")))
	b := s.open("ann", mainJobs, "")
	eventually(t, "the page is shown", b.shows("jobs", "two"))
	b.end()
	eventually(t, "the connection is lost", b.isOver)
	eventually(t, "no viewer follows", func() bool {
		none := false
		s.api.locked(func() { none = len(s.api.followers) == 0 })
		return none
	})
	b.connect(b.digest)
	s.api.set("bert", running("three"))
	s.soon("the change is shown", b.shows("jobs", "three"))
	if n := len(b.patches()); n != 1 || b.patches()[0].All {
		t.Errorf("%d patches to a browser that had missed nothing", n)
	}
	b.end()
	eventually(t, "the connection is lost", b.isOver)
	s.api.change(func() { s.api.jobs = nil }) // no container has a row any more
	b.connect(b.digest)
	eventually(t, "it shows that there is nothing", b.shows("notes", "no job that you may list"))
	if rows, _ := b.shown("jobs"); len(rows) != 0 {
		t.Errorf("it shows %v", rows)
	}
}

// TestDroppedSubscription: one that did not keep up is renewed, and nothing is missed.
func TestDroppedSubscription(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")))
	b := s.open("ann", mainJobs, "")
	eventually(t, "the page is shown", b.shows("jobs", "one"))
	s.api.locked(func() {
		for changes := range s.api.followers {
			delete(s.api.followers, changes)
			close(changes)
		}
		s.api.jobs[0] = newJob("a", "bert", running("missed"))
		s.api.jobs[0].ResourceVersion = "2"
	})
	s.soon("what was missed is shown", b.shows("jobs", "missed"))
	s.api.set("bert", running("later"))
	s.soon("what happens later is shown", b.shows("jobs", "later"))
	s.api.locked(func() {
		if s.api.follows != 2 {
			t.Errorf("it has followed %d times, want 2", s.api.follows)
		}
	})
}

// TestRightIsTakenAway: what a page shows goes with the right to see it, though no job changes.
func TestRightIsTakenAway(t *testing.T) {
	for name, path := range map[string]string{
		"list": mainJobs, "get": "/board/clusters/main/namespaces/a/jobs/bert",
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, newJob("a", "bert", running("secret plan")))
			b := s.open("bob", path, "")
			container := map[string]string{"list": "jobs", "get": "job"}[name]
			eventually(t, "the page is shown", b.shows(container, "secret plan"))
			s.api.locked(func() { s.api.denied["bob "+name] = true })
			s.soon("the stream ends", b.isOver)
			if shown, _ := b.shown(container); len(shown) != 0 {
				t.Errorf("it shows %v still", shown)
			}
			if e, is := b.last(eventProblem); !is || !strings.Contains(e.data, "bob cannot "+name) {
				t.Errorf("the browser gets %q", e.data)
			}
		})
	}
}

// TestClusterAway: a page stays while the cluster is away, says so once, and goes on afterwards.
func TestClusterAway(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")))
	b := s.open("ann", mainJobs, "")
	eventually(t, "the page is shown", b.shows("jobs", "one"))
	s.api.locked(func() { s.api.away = problem.New(problem.BadGateway, "cluster main is away", "wait") })
	notified := func() bool { _, is := b.last(eventProblem); return is }
	s.soon("it says so", notified)
	lists := func() (n int) {
		s.api.locked(func() { n = s.api.lists })
		return n
	}
	before := lists()
	s.soon("it has tried again", func() bool { return lists() >= before+3 })
	if !b.shows("jobs", "one")() {
		t.Error("it shows nothing any more")
	}
	s.api.locked(func() { s.api.away = nil })
	s.api.set("bert", running("two"))
	s.soon("it goes on", b.shows("jobs", "two"))
	if e, _ := b.last(eventProblem); e.data != "null" {
		t.Errorf("it still tells %s", e.data)
	}
	problems := 0
	b.mu.Lock()
	for _, e := range b.events {
		if e.name == eventProblem {
			problems++
		}
	}
	b.mu.Unlock()
	if problems != 2 {
		t.Errorf("%d problems, want one when it goes away and one when it is back", problems)
	}
}

// TestViewersShareRows: what one viewer has rendered is not rendered for the next, and a change is rendered
// once for both.
func TestViewersShareRows(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")), newJob("a", "gpt", running("two")))
	first, second := s.open("ann", mainJobs, ""), s.open("bob", mainJobs, "")
	eventually(t, "both see the page", func() bool {
		return first.shows("jobs", "two")() && second.shows("jobs", "two")()
	})
	if n := s.board.rows.rendered.Load(); n != 2 {
		t.Errorf("%d rows were rendered, want 2", n)
	}
	s.api.set("bert", running("three"))
	s.soon("both see the change", func() bool {
		return first.shows("jobs", "three")() && second.shows("jobs", "three")()
	})
	if n := s.board.rows.rendered.Load(); n != 3 {
		t.Errorf("%d rows were rendered, want 3", n)
	}
}

// TestStreamEnds after its longest time, with comments until then.
func TestStreamEnds(t *testing.T) {
	s := newServer(t, newJob("a", "bert", running("one")))
	b := s.open("ann", mainJobs, "")
	eventually(t, "the page is shown", b.shows("jobs", "one"))
	eventually(t, "the stream ends", func() bool {
		s.clock.Step(10 * time.Minute)
		return b.isOver()
	})
}

func tooMany(context.Context) error {
	return problem.New(problem.TooManyRequests, "you already have 10 open streams", "close one of them")
}

func allow(context.Context) error { return nil }

// TestStreamRefused: a stream that cannot begin has an error status.
func TestStreamRefused(t *testing.T) {
	s := newServer(t)
	for name, tt := range map[string]struct {
		path   string
		prime  func()
		status int
	}{
		"no job":   {"/board/clusters/main/namespaces/a/jobs/none?live=1", func() {}, http.StatusNotFound},
		"no page":  {mainJobs + "?live=1&colour=red", func() {}, http.StatusUnprocessableEntity},
		"too many": {mainJobs + "?live=1", func() { s.board.BeginStream = tooMany }, http.StatusTooManyRequests},
	} {
		tt.prime()
		r := s.request(t.Context(), http.MethodGet, tt.path, "ann", nil)
		r.Header.Set("Accept", "text/event-stream")
		got := s.send(r)
		if got.StatusCode != tt.status || got.Header.Get("Content-Type") != problem.MediaType {
			t.Errorf("%s: status %d, %s", name, got.StatusCode, got.Header.Get("Content-Type"))
		}
		s.board.BeginStream = allow
		if len(s.api.followers) != 0 {
			t.Errorf("%s: it is followed still", name)
		}
	}
}

// TestHello: a stream names its user, as the page does, and another name for another user.
func TestHello(t *testing.T) {
	s := newServer(t, newJob("a", "bert"))
	page := s.get(mainJobs).body
	reported := func(user string) (hello struct{ Build, Reader string }) {
		b := s.open(user, mainJobs, "")
		eventually(t, "it says hello", func() bool { _, has := b.last(eventHello); return has })
		e, _ := b.last(eventHello)
		if err := json.Unmarshal([]byte(e.data), &hello); err != nil {
			t.Fatal(err)
		}
		b.end()
		return hello
	}
	ann, joe := reported("ann"), reported("joe")
	for name, want := range map[string]string{"build": ann.Build, "reader": ann.Reader} {
		meta := `<meta name="` + name + `" content="` + want + `">`
		if want == "" || !strings.Contains(page, meta) {
			t.Errorf("the page has not %s: %.800s", meta, page)
		}
	}
	if joe.Build != ann.Build || joe.Reader == ann.Reader {
		t.Errorf("ann is %+v, joe is %+v", ann, joe)
	}
}
