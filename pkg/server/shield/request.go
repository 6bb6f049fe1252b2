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

// errLate is the cause of a context whose request timed out.
var errLate = errors.New("the request timed out")

func late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errLate) }

type requestKey struct{}

// request that is being handled. Only its handler's goroutine uses it.
type request struct {
	shield *Shield
	answer *answer
	caller string
	stream bool
	// leave decrements the counts that include the request.
	leave  []func()
	cancel context.CancelCauseFunc
	timer  clock.Timer
}

// begin starts the time limit. Read and write deadlines end slow bodies and slow readers, which the handler
// cannot. If a ResponseWriter has no deadlines, as in tests, only the context ends.
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

// of counts the request for a caller until it ends.
func (q *request) of(caller string) {
	q.caller = caller
	q.leave = append(q.leave, func() { q.shield.perCaller.leave(caller) })
}

// toOpen moves the request to the pool of the open paths, and shortens its time limit.
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

// Stream declares that the response to the context's request has no end. A handler calls it before it writes.
// The context then ends after Config.StreamSeconds, and the client must receive each write within half a
// minute. The error is an *Error, for the response: there are too many streams. Outside of a Shield's Handler
// it does nothing.
func Stream(ctx context.Context) error {
	q, ok := ctx.Value(requestKey{}).(*request)
	if !ok || q.stream {
		return nil
	}
	s := q.shield
	switch together, ofCaller := s.streams.enter(q.caller); {
	case !ofCaller:
		s.metrics.rejected.WithLabelValues(reasonStreams).Inc()
		return tooMany(reasonStreams, "close one of them", "you already have %d open streams",
			s.config.StreamsPerCaller)
	case !together:
		s.metrics.rejected.WithLabelValues(reasonStreams).Inc()
		return &Error{
			Status: http.StatusServiceUnavailable, Detail: "too many streams are open on this server",
			Remedy: "retry later, or send the request without a stream", RetryAfter: time.Second,
			reason: reasonStreams,
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
	// pending reports an HTTP/1 body that has not been read to its end.
	pending bool
}

func newBody(r *http.Request) *body {
	return &body{ReadCloser: r.Body, pending: r.ProtoMajor == 1 && r.ContentLength != 0}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.pending = false
	}
	return n, err
}

// answer records whether the response has begun, and renews the deadline of a stream's writes.
type answer struct {
	http.ResponseWriter
	body   *body
	clock  clock.PassiveClock
	begun  bool
	stream bool
}

// WriteHeader implements http.ResponseWriter. It closes the connection after an error whose request has an
// unread body: the server would otherwise wait for the body before it responds.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusMultipleChoices && a.body.pending {
		a.Header().Set("Connection", "close")
	}
	if status >= http.StatusOK { // others are informational
		a.begun = true
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	a.renew()
	return a.ResponseWriter.Write(b)
}

// FlushError implements the interface of http.ResponseController.
func (a *answer) FlushError() error {
	a.begun = true
	a.renew()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush implements http.Flusher. The next Write returns the error.
func (a *answer) Flush() { _ = a.FlushError() }

// Unwrap implements the interface of http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) renew() {
	if a.stream {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.clock.Now().Add(streamWrite))
	}
}

// recover from a panic of the handler, without details in the response. A response that has begun is cut off,
// so that the client notices that it is incomplete.
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
	s.write(w, r, http.StatusInternalServerError, "the server has failed", "",
		"report this to an admin: the server's log has the cause")
}
