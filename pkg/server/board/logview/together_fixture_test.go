package logview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// gangLogs are the logs of ranks that start, write and end.
type gangLogs struct {
	mu     sync.Mutex
	pods   map[spec.RankRef]*writer
	err    error // of all
	opened []spec.RankRef
	asked  []Options
	open   atomic.Int32
}

// writer is a pod of a rank.
type writer struct {
	uid  string
	text string
	// ended: it writes no more.
	ended bool
}

func (g *gangLogs) set(rank int32, w *writer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w == nil {
		delete(g.pods, worker(rank))
		return
	}
	g.pods[worker(rank)] = w
}

func (g *gangLogs) Open(ctx context.Context, rank spec.RankRef, o Options) (Log, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened, g.asked = append(g.opened, rank), append(g.asked, o)
	w, has := g.pods[rank]
	switch {
	case g.err != nil:
		return Log{}, g.err
	case !has:
		return Log{}, problem.New(problem.NotFound, "it has no pod", "wait")
	}
	lines := strings.SplitAfter(w.text, "\n")
	lines = lines[:len(lines)-1]
	from := 0
	if o.TailLines >= 0 {
		from = max(0, len(lines)-int(o.TailLines))
	}
	for since := o.Since(w.uid).Truncate(time.Second); from < len(lines); from++ {
		at, _, _ := strings.Cut(lines[from], " ")
		if when, _ := time.Parse(time.RFC3339Nano, at); !when.Before(since) {
			break
		}
	}
	g.open.Add(1)
	return Log{&gangLog{ctx: ctx, of: g, pod: w, at: len(strings.Join(lines[:from], ""))}, w.uid}, nil
}

type gangLog struct {
	ctx    context.Context
	of     *gangLogs
	pod    *writer
	at     int
	closed atomic.Bool
}

func (l *gangLog) Read(p []byte) (int, error) {
	for {
		l.of.mu.Lock()
		text, ended := l.pod.text, l.pod.ended
		l.of.mu.Unlock()
		switch {
		case l.closed.Load():
			return 0, errors.New("closed")
		case l.at < len(text):
			n := copy(p, text[l.at:])
			l.at += n
			return n, nil
		case ended:
			return 0, io.EOF
		}
		time.Sleep(50 * time.Millisecond) // synctest time
	}
}

func (l *gangLog) Close() error {
	if !l.closed.Swap(true) {
		l.of.open.Add(-1)
	}
	return nil
}

// screen receives the events of a stream.
type screen struct {
	http.ResponseWriter
	mu     sync.Mutex
	text   strings.Builder
	stuck  chan struct{} // if set, writes block until it is closed
	onSend func(event)
}

func (s *screen) Write(p []byte) (int, error) {
	if s.stuck != nil {
		<-s.stuck
	}
	s.mu.Lock()
	s.text.Write(p)
	s.mu.Unlock()
	if s.onSend != nil {
		e, _ := eventsOf(strings.NewReader(string(p)))()
		s.onSend(e)
	}
	return len(p), nil
}

func (s *screen) Flush() {}

func (s *screen) events() []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []event
	for next := eventsOf(strings.NewReader(s.text.String())); ; {
		e, err := next()
		if err != nil {
			return all
		}
		if e.Name != "" {
			all = append(all, e)
		}
	}
}

// lines that are shown, with their ranks.
func (s *screen) lines(t *testing.T) []string {
	var all []string
	for _, e := range s.events() {
		if e.Name == eventLines {
			all = append(all, ranked(t, e)...)
		}
	}
	return all
}

func ranked(t *testing.T, e event) []string {
	var data struct {
		Lines []struct{ Rank, Text string }
	}
	if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	var all []string
	for _, l := range data.Lines {
		all = append(all, l.Rank+": "+l.Text)
	}
	return all
}

// last event of a name, or the zero value.
func (s *screen) last(name string) (last event) {
	for _, e := range s.events() {
		if e.Name == name {
			last = e
		}
	}
	return last
}

// follow ranks together in a synctest bubble until leave is called.
func follow(
	t *testing.T, all *Together, o Options, after string, onSend func(event),
) (s *screen, leave func()) {
	t.Helper()
	s = &screen{ResponseWriter: httptest.NewRecorder(), onSend: onSend}
	return s, followOn(t, s, all, o, after)
}

func followOn(t *testing.T, s *screen, all *Together, o Options, after string) (leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?"+ParamAfter+"="+after, nil)
	streams := &Streams{Clock: clock.RealClock{}, Heartbeat: 15 * time.Second, WriteTimeout: patience}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := streams.ServeTogether(s, r, all, o); err != nil {
			t.Error(err)
		}
	}()
	return func() { cancel(); <-done }
}

func gangOf(n int32) []spec.RankRef {
	var all []spec.RankRef
	for i := range n {
		all = append(all, worker(i))
	}
	return all
}

// logged returns a line of a log, at seconds after the epoch.
func logged(seconds int, text string) string { return at(seconds) + " " + text + "\n" }
