package logview

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Names of events.
const (
	eventLines   = "lines"
	eventProblem = "problem"
	eventEnd     = "end"
)

// Limits of one event.
const (
	batchLines = 200
	batchBytes = 64 << 10
)

// ParamAfter is the URL parameter with the position to continue from; the header Last-Event-ID takes
// precedence.
const ParamAfter = "after"

// ParamUID is the parameter with the UID of the job: another job with its name is not followed.
const ParamUID = "uid"

// Streams of logs.
type Streams struct {
	Clock clock.WithTicker
	// Heartbeat is how often a comment is sent while the log is silent, to detect disconnected readers.
	Heartbeat time.Duration
	// WriteTimeout ends the stream of a reader that does not read.
	WriteTimeout time.Duration
}

// batch of lines, or why there are no more.
type batch struct {
	lines []Line
	err   error
}

// Serve streams the log of a rank, from the position in the request, else from the last lines that o selects,
// until the log or the request's context ends, or the reader disconnects. It returns an error only if nothing
// has been sent: the caller responds with it.
func (s *Streams) Serve(
	w http.ResponseWriter, r *http.Request, from Opener, rank spec.RankRef, o Options,
) error {
	start, err := ParsePosition(positionIn(r))
	if err != nil {
		return err
	}
	o.Follow, o.After = !o.Previous, start
	if !start.Time.IsZero() {
		o.TailLines = -1
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel() // ends the reader below, too
	log, err := from.Open(ctx, rank, o)
	if err != nil {
		return err
	}
	start = start.in(log.Pod)
	batches := make(chan batch) // unbuffered: what the reader does not take waits in the cluster
	done := make(chan struct{})
	go func() {
		defer close(done)
		readBatches(log, start, func(b batch) bool {
			select {
			case batches <- b:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	// Reads of the log can outlive the context, but end when it is closed.
	defer func() { _ = log.Close(); cancel(); <-done }()
	s.send(ctx, events.Begin(w, events.MediaType, s.WriteTimeout), start, batches)
	return nil
}

// positionIn a request: that of the last event that its browser received.
func positionIn(r *http.Request) string {
	if after := r.Header.Get("Last-Event-ID"); after != "" {
		return after
	}
	return r.URL.Query().Get(ParamAfter)
}

// send batches until there are no more, or the reader disconnects.
func (s *Streams) send(ctx context.Context, to *events.Writer, at Position, batches <-chan batch) {
	beat := s.Clock.NewTicker(s.Heartbeat)
	defer beat.Stop()
	if to.Comment("") != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C():
			if to.Comment("") != nil {
				return
			}
		case b := <-batches:
			for _, line := range b.lines {
				at = at.behind(line)
			}
			if len(b.lines) > 0 && to.EventJSON(eventLines, at.String(), map[string]any{"lines": b.lines}) != nil {
				return
			}
			switch {
			case b.err == nil:
				continue
			case errors.Is(b.err, io.EOF):
				_ = to.EventJSON(eventEnd, at.String(), struct{}{})
			case ctx.Err() == nil:
				_ = to.EventJSON(eventProblem, at.String(), problem.Of(b.err))
			}
			return
		}
	}
}

// readBatches reads a log after a position, and groups the lines that are available. The last batch has the
// error. It ends early if take returns false.
func readBatches(log io.Reader, start Position, take func(batch) bool) {
	skip := since{start: start}
	r := newReader(log)
	var b batch
	size := 0
	for b.err == nil {
		line, err := r.next()
		if b.err = err; err == nil && !skip.skips(line) {
			b.lines = append(b.lines, line)
			size += cost(line)
		}
		if b.err == nil && (len(b.lines) == 0 || len(b.lines) < batchLines && size < batchBytes && !r.waits()) {
			continue
		}
		if !take(b) {
			return
		}
		b.lines, size = nil, 0
	}
}
