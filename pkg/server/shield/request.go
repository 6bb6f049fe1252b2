package shield

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"
)

// errLate is the cause of the end of a context whose request's time is over.
var errLate = errors.New("the request's time is over")

func late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errLate) }

type requestKey struct{}

// request is one that is handled. One goroutine, its handler's, uses it.
type request struct {
	shield *Shield
	answer *answer
	caller string
	stream bool
	// leave the counts that the request is in.
	leave  []func()
	cancel context.CancelCauseFunc
	timer  clock.Timer
}

// begin the time limit. The read and write deadlines end what the handler cannot: a body that is sent slowly,
// an answer that is read slowly. Where a ResponseWriter has none, as in tests, the context ends the rest.
func (q *request) begin(ctx context.Context) context.Context {
	ctx, q.cancel = context.WithCancelCause(context.WithValue(ctx, requestKey{}, q))
	limit := time.Duration(q.shield.config.RequestSeconds) * time.Second
	q.until(limit)
	now, c := q.shield.clock.Now(), http.NewResponseController(q.answer.ResponseWriter)
	_ = c.SetReadDeadline(now.Add(limit))
	_ = c.SetWriteDeadline(now.Add(limit + writeGrace))
	return ctx
}

func (q *request) until(limit time.Duration) {
	cancel := q.cancel
	q.timer = q.shield.clock.AfterFunc(limit, func() { cancel(errLate) })
}

// of a caller, whom the request counts for until its end.
func (q *request) of(caller string) {
	q.caller = caller
	q.leave = append(q.leave, func() { q.shield.perCaller.leave(caller) })
}

// toOpen moves the request from the pool of all to that of the open paths, and shortens its time.
func (q *request) toOpen(leave func()) {
	q.leaveCounts()
	q.leave = append(q.leave, leave)
	limit := time.Duration(q.shield.config.RequestSeconds) * time.Second
	q.timer.Stop()
	q.until(min(limit, openLimit))
	now, c := q.shield.clock.Now(), http.NewResponseController(q.answer.ResponseWriter)
	_ = c.SetReadDeadline(now.Add(min(limit, openRead)))
	_ = c.SetWriteDeadline(now.Add(min(limit, openLimit) + writeGrace))
}

func (q *request) end() {
	q.timer.Stop()
	q.cancel(nil)
	q.leaveCounts()
}

func (q *request) leaveCounts() {
	for _, leave := range q.leave {
		leave()
	}
	q.leave = nil
}

// Stream says that the answer to the context's request has no end. A handler calls it before it writes
// anything. The context then ends after Config.StreamSeconds, and what is written must be read within half a
// minute each time. The error is an *Error: there are too many streams, and the handler must answer with it.
// Outside of a Shield's Handler it does nothing.
func Stream(ctx context.Context) error {
	q, ok := ctx.Value(requestKey{}).(*request)
	if !ok || q.stream {
		return nil
	}
	s := q.shield
	switch together, ofCaller := s.streams.enter(q.caller); {
	case !ofCaller:
		s.metrics.rejected.WithLabelValues(reasonStreams).Inc()
		return tooMany(reasonStreams, "close one of them", "%d streams of yours are open already",
			s.config.StreamsPerCaller)
	case !together:
		s.metrics.rejected.WithLabelValues(reasonStreams).Inc()
		return &Error{
			Status: http.StatusServiceUnavailable, Detail: "too many streams are open on this server",
			Remedy: "try again later, or ask without a stream", RetryAfter: time.Second, reason: reasonStreams,
		}
	}
	q.stream = true
	q.leaveCounts()
	q.leave = []func(){func() { s.streams.leave(q.caller) }}
	q.timer.Stop()
	q.until(time.Duration(s.config.StreamSeconds) * time.Second)
	_ = http.NewResponseController(q.answer.ResponseWriter).SetReadDeadline(time.Time{})
	q.answer.stream = true
	return nil
}

// body of a request.
type body struct {
	io.ReadCloser
	// pending: it is HTTP/1, and has not been read to its end.
	pending bool
}

func newBody(r *http.Request) *body {
	return &body{ReadCloser: r.Body, pending: r.ProtoMajor == 1 && r.ContentLength != 0}
}

// Read is io.Reader's.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.pending = false
	}
	return n, err
}

// answer knows whether it has begun, and renews the deadline of a stream's writes.
type answer struct {
	http.ResponseWriter
	body   *body
	clock  clock.PassiveClock
	begun  bool
	stream bool
}

// WriteHeader is http.ResponseWriter's. A rejection whose request has a body that was not read, such as a
// 401, ends the connection: the server would otherwise wait for the body before it sends the answer.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusMultipleChoices && a.body.pending {
		a.Header().Set("Connection", "close")
	}
	if status >= http.StatusOK { // others are told in advance
		a.begun = true
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write is http.ResponseWriter's.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	a.renew()
	return a.ResponseWriter.Write(b)
}

// FlushError is used by http.ResponseController.
func (a *answer) FlushError() error {
	a.begun = true
	a.renew()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush is http.Flusher's. What cannot be sent ends the next Write.
func (a *answer) Flush() { _ = a.FlushError() }

// Unwrap is used by http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) renew() {
	if a.stream {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.clock.Now().Add(streamWrite))
	}
}

// recover from a panic of the handler. The answer tells nothing of it. One that has begun is cut off, so that
// nobody takes it for whole.
func (s *Shield) recover(w *answer, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	s.metrics.panics.Inc()
	s.log.Info("A handler panicked", "method", r.Method, "path", r.URL.Path, "panic", value,
		"stack", string(debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	s.write(w, r, http.StatusInternalServerError, "the server has made a mistake", "",
		"tell an admin: the server's log has more")
}
