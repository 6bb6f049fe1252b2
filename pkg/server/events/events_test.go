package events_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
)

// recorder records a response and its deadlines.
type recorder struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	flushes   int
	err       error
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.deadlines = append(r.deadlines, t)
	return http.ErrNotSupported // ignored
}

func (r *recorder) FlushError() error {
	r.flushes++
	return r.err
}

func newRecorder() *recorder { return &recorder{ResponseRecorder: httptest.NewRecorder()} }

func TestFraming(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		send   func(*events.Writer) error
		want   string
	}{
		"event": {
			"a full event",
			func(w *events.Writer) error { return w.Event("added", "1-2", []byte(`{"a":1}`)) },
			"event: added\nid: 1-2\ndata: {\"a\":1}\n\n",
		},
		"without id": {
			"the client keeps the previous id",
			func(w *events.Writer) error { return w.Event("added", "", []byte("null")) },
			"event: added\ndata: null\n\n",
		},
		"lines": {
			"each line is a data field, whatever ends it",
			func(w *events.Writer) error { return w.Event("text", "", []byte("a\nb\r\nc\rd\n")) },
			"event: text\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n",
		},
		"JSON": {
			"JSON is on one line",
			func(w *events.Writer) error { return w.EventJSON("lines", "", map[string]string{"a": "b\n"}) },
			"event: lines\ndata: {\"a\":\"b\\n\"}\n\n",
		},
		"comment": {
			"a comment with text",
			func(w *events.Writer) error { return w.Comment("nothing has happened") },
			": nothing has happened\n\n",
		},
		"empty comment": {
			"the shortest keep-alive",
			func(w *events.Writer) error { return w.Comment("") },
			":\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			if err := tc.send(events.Begin(r, events.MediaType, time.Minute)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.Body.String()); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if len(r.deadlines) != 1 || r.flushes != 1 {
				t.Errorf("%s: %d deadlines and %d flushes, want one of each", tc.reason, len(r.deadlines), r.flushes)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	r := newRecorder()
	_, err := events.Begin(r, "text/plain", 0).Write([]byte("x"))
	want := http.Header{
		"Content-Type": {"text/plain"}, "X-Content-Type-Options": {"nosniff"},
		"Cache-Control": {"no-store"}, "X-Accel-Buffering": {"no"},
	}
	if diff := cmp.Diff(want, r.Header()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if len(r.deadlines) != 0 {
		t.Errorf("a writer without a timeout has set %d deadlines", len(r.deadlines))
	}
}

func TestErrors(t *testing.T) {
	r := newRecorder()
	r.err = http.ErrHandlerTimeout
	w := events.Begin(r, events.MediaType, time.Minute)
	if err := w.Event("added", "", nil); !errors.Is(err, r.err) {
		t.Errorf("an event that cannot be flushed: %v", err)
	}
	if err := w.Comment(""); !errors.Is(err, r.err) {
		t.Errorf("a comment that cannot be flushed: %v", err)
	}
	sent := r.Body.Len()
	if w.Event("a\nb", "", nil) == nil || w.Event("a", "1\r2", nil) == nil {
		t.Error("a line break in the name or the id is accepted")
	}
	if w.EventJSON("a", "", func() {}) == nil {
		t.Error("a value without JSON is accepted")
	}
	if r.Body.Len() != sent {
		t.Errorf("invalid events are sent: %q", r.Body.String()[sent:])
	}
}
