package board

import (
	"bufio"
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment/fragmenttest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

const logsPage = jobPage + "/logs"

// writing returns a server with a job of two ranks, of which the first writes.
func writing(t *testing.T) (*server, *pod) {
	t.Helper()
	s := newServer(t, newJob("a", "bert", trains(1, "1")))
	p := newPod("step 1", "step 2 "+hostile, "step 3")
	s.api.logs = map[string]*pod{"Worker 0": p}
	return s, p
}

// TestLogsOfOneRank: the page has the last lines as text, and the position to follow them from.
func TestLogsOfOneRank(t *testing.T) {
	s, _ := writing(t)
	got := s.get(logsPage + "?lines=2&times=true")
	contains(t, got, http.StatusOK, "Worker 0</h2>", "step 2 &lt;img", "2026-11-25T12:30:01Z",
		`data-stream="`+logsPage+`/stream?index=0&amp;lines=2&amp;role=Worker&amp;times=true&amp;uid=uid-bert`+
			`&amp;after=`)
	lacks(t, got, "step 1", "<img", "data-live")
	fragmenttest.Document(t, got.body)
	contains(t, s.get(logsPage+"?index=7"), http.StatusUnprocessableEntity, "query.index")
	contains(t, s.get(logsPage+"?colour=red"), http.StatusUnprocessableEntity, "query.colour")
}

// TestLogsOfAllRanks: they are one log, with errors of ranks; the job is read once for all of them.
func TestLogsOfAllRanks(t *testing.T) {
	s, _ := writing(t)
	got := s.get(logsPage + "?all=true")
	contains(t, got, http.StatusOK, "2 ranks</h2>", `data-stream="`+logsPage+`/stream?all=true&amp;`,
		"<b>Worker 0</b> step 1", "Worker 1 has no pod",
		"ask again when the job runs")
	if s.api.jobLogs != 1 {
		t.Errorf("the job was read %d times", s.api.jobLogs)
	}
	s.api.logs["Worker 1"] = newPod("other 1")
	contains(t, s.get(logsPage+"?all=true"), http.StatusOK, "<b>Worker 1</b> other 1")
}

// TestLogsWithoutPods: a queued job has no logs, and the page states that.
func TestLogsWithoutPods(t *testing.T) {
	s := newServer(t, newJob("a", "bert", trains(1, "1"), inPhase(v1alpha1.PhaseQueued)))
	for _, query := range []string{"", "?all=true"} {
		got := s.get(logsPage + query)
		contains(t, got, http.StatusOK, "Worker 0 has no pod: the job is Queued", `role="alert"`)
		lacks(t, got, "Nothing was written")
		if follows := strings.Contains(got.body, "data-stream"); follows != (query != "") {
			t.Errorf("%q is followed: %v", query, follows)
		}
	}
}

// TestLogsAreGuarded: the right to get a job does not include its logs.
func TestLogsAreGuarded(t *testing.T) {
	s, _ := writing(t)
	s.api.denied["ann logs"] = true
	for _, query := range []string{"", "?all=true"} {
		got := s.get(logsPage + query)
		contains(t, got, http.StatusOK, "ann cannot logs")
		lacks(t, got, "step 1")
	}
}

// reader of the stream of a log, like logview.js.
type reader struct {
	mu     sync.Mutex
	events []event
	over   bool
	leave  context.CancelFunc
}

// followLog from a position on.
func (s *server) followLog(path, after string) *reader {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.t.Context())
	l := &reader{leave: leave}
	r := s.request(ctx, http.MethodGet, path, "ann", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", after)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	go func() {
		defer resp.Body.Close()
		var e event
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
				l.mu.Lock()
				l.events = append(l.events, e)
				l.mu.Unlock()
				e = event{}
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
	}()
	return l
}

// has reports whether the events of a name contain text.
func (l *reader) has(name, text string) func() bool {
	return func() bool { return strings.Contains(l.all(name), text) }
}

func (l *reader) all(name string) (text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.name == name {
			text += e.data
		}
	}
	return text
}

func (l *reader) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// position after the last event.
func (l *reader) position() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events[len(l.events)-1].id
}

// TestLogIsFollowed: after a broken connection the missed lines come, and none twice.
func TestLogIsFollowed(t *testing.T) {
	s, p := writing(t)
	page := s.get(logsPage).body
	_, after, _ := strings.Cut(page, `data-stream="`)
	stream, _, _ := strings.Cut(after, `"`)
	stream = strings.ReplaceAll(stream, "&amp;", "&")
	first := s.followLog(stream, "")
	p.write("step 4")
	eventually(t, "the line comes", first.has("lines", "step 4"))
	p.write("step 5")
	eventually(t, "the next one comes, too", first.has("lines", "step 5"))
	if text := first.all("lines"); strings.Contains(text, "step 3") {
		t.Errorf("what the page shows comes again: %s", text)
	}
	first.leave()
	eventually(t, "the connection is lost", first.isOver)
	p.write("step 6", "step 7")
	again := s.followLog(stream, first.position())
	eventually(t, "what was missed comes", again.has("lines", "step 7"))
	if text := again.all("lines"); !strings.Contains(text, "step 6") || strings.Contains(text, "step 5") {
		t.Errorf("got %s", text)
	}
	s.api.locked(func() {
		if want := now.Add(4 * time.Second); !s.api.since.Equal(want) {
			t.Errorf("it is read from %v on, want %v", s.api.since, want)
		}
	})
	p.end()
	eventually(t, "the end is reported", again.has("end", "{}"))
	eventually(t, "the stream ends", again.isOver)
}

// TestAllRanksAreFollowed: after a broken connection they are still one log. A rank that starts joins when
// the server sees it, and the stream reports the end of the job.
func TestAllRanksAreFollowed(t *testing.T) {
	s, p := writing(t)
	p.uid = "pod-0"
	page := s.get(logsPage + "?all=true").body
	_, after, _ := strings.Cut(page, `data-stream="`)
	stream, _, _ := strings.Cut(after, `"`)
	stream = strings.ReplaceAll(stream, "&amp;", "&")
	first := s.followLog(stream, "")
	s.soon("the states are sent", first.has("ranks",
		`{"following":1,"of":2,"waiting":[{"rank":"Worker 1","why":"Worker 1 has no pod`))
	other := newPod("other 1")
	other.uid = "pod-1"
	s.api.locked(func() {
		s.api.logs["Worker 1"] = other
		s.api.nodes = append(s.api.nodes, rankOnNode("node-1", s.api.jobs[0], 1))
	})
	s.soon("the other rank joins", first.has("lines",
		`{"rank":"Worker 1","time":"2026-11-25T12:30:00Z","text":"other 1"}`))
	p.write("step 4")
	s.soon("the line comes", first.has("lines",
		`"rank":"Worker 0","time":"2026-11-25T12:30:03Z","text":"step 4"`))
	if text := first.all("lines"); strings.Contains(text, "step 3") {
		t.Errorf("what the page shows comes again: %s", text)
	}
	position := ""
	first.mu.Lock()
	for _, e := range first.events {
		position = cmp.Or(e.id, position)
	}
	first.mu.Unlock()
	first.leave()
	p.write("step 5")
	again := s.followLog(stream, position)
	s.soon("what was missed comes", again.has("lines", "step 5"))
	if text := again.all("lines"); strings.Contains(text, "step 4") || strings.Contains(text, "other 1") {
		t.Errorf("got %s", text)
	}
	p.end()
	other.end()
	s.api.set("bert", inPhase(v1alpha1.PhaseSucceeded))
	s.soon("the end is reported", again.has("end", "{}"))
	eventually(t, "the stream ends, and is not counted any more", func() bool {
		s.board.followed.mu.Lock()
		defer s.board.followed.mu.Unlock()
		return again.isOver() && len(s.board.followed.byCaller) == 0
	})
}

// TestLogCannotBeFollowed: the status of the answer has the cause.
func TestLogCannotBeFollowed(t *testing.T) {
	s, p := writing(t)
	asIs := func() (undo func()) { return func() {} }
	for name, tt := range map[string]struct {
		query  string
		prime  func() (undo func())
		status int
	}{
		"what is over of all ranks": {"?all=true&previous=true", asIs, http.StatusUnprocessableEntity},
		"positions":                 {"?all=true&after=x", asIs, http.StatusUnprocessableEntity},
		"another's":                 {"?uid=uid-other", asIs, http.StatusNotFound},
		"many":                      {"?all=true", s.followTooMany, http.StatusTooManyRequests},
		"no rank":                   {"?index=9", asIs, http.StatusUnprocessableEntity},
		"no pod":                    {"?index=1", asIs, http.StatusNotFound},
		"position":                  {"?after=x", asIs, http.StatusUnprocessableEntity},
		"too many":                  {"", s.streamTooMany, http.StatusTooManyRequests},
	} {
		undo := tt.prime()
		p.end() // so that the stream ends
		r := s.request(t.Context(), http.MethodGet, logsPage+"/stream"+tt.query, "ann", nil)
		r.Header.Set("Accept", "text/event-stream")
		got := s.send(r)
		if got.StatusCode != tt.status || got.Header.Get("Content-Type") != problem.MediaType {
			t.Errorf("%s: status %d, %s", name, got.StatusCode, got.body)
		}
		undo()
	}
}

// followTooMany makes ann follow the maximum number of ranks.
func (s *server) followTooMany() (undo func()) {
	undo, _ = s.board.followed.enter("ann", maxFollowed-1)
	return undo
}

// streamTooMany refuses all streams.
func (s *server) streamTooMany() (undo func()) {
	s.board.BeginStream = tooMany
	return func() { s.board.BeginStream = allow }
}

// TestFollowedRanks: the ranks of a caller are bounded, independent of those of others.
func TestFollowedRanks(t *testing.T) {
	var f followed
	leave, entered := f.enter("ann", maxFollowed)
	if _, more := f.enter("ann", 1); !entered || more {
		t.Errorf("entered: %v, and more: %v", entered, more)
	}
	if _, entered := f.enter("bob", 1); !entered {
		t.Error("one caller blocks another")
	}
	leave()
	if _, entered := f.enter("ann", 1); !entered {
		t.Error("who has left is still counted")
	}
}

// TestFilesOfJobPages: the board's files include those of job pages.
func TestFilesOfJobPages(t *testing.T) {
	s := newServer(t)
	sheet := s.get(s.board.static.url("board.css"))
	contains(t, sheet, http.StatusOK, "--ground:", "#job .facts", ".choose {")
	script := s.get(s.board.static.url("board.js"))
	contains(t, script, http.StatusOK, "function applyPatch", "log.dataset.stream")
}
