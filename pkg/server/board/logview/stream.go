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

// Bounds of one event.
const (
	batchLines = 200
	batchBytes = 64 << 10
)

// ParamAfter is the parameter of a stream's URL that has the position to go on from; the header Last-Event-ID
// counts before it.
const ParamAfter = "after"

// ParamUID is the parameter that has the UID of the job: no other that takes its name is followed.
const ParamUID = "uid"

// Streams of logs.
type Streams struct {
	Clock clock.WithTicker
	// Heartbeat is how often something is sent while nothing is written, so that a reader that is gone is
	// noticed.
	Heartbeat time.Duration
	// WriteTimeout ends the stream of a reader that takes nothing.
	WriteTimeout time.Duration
}

// batch of lines, or why there are no more.
type batch struct {
	lines []Line
	err   error
}

// Serve what a rank writes, from the position that the request has on, else from the last lines that o asks
// for, until the log ends, the request's context does, or the reader is gone. An error is returned where
// nothing has been sent: it is the caller's to answer.
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
	defer cancel() // ends the reading below, too
	log, err := from.Open(ctx, rank, o)
	if err != nil {
		return err
	}
	start = start.in(log.Pod)
	batches := make(chan batch) // nothing is read ahead: what the reader does not take waits in the cluster
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
	// Reads of the log may not end with the context, but do when it is closed.
	defer func() { _ = log.Close(); cancel(); <-done }()
	s.send(ctx, events.Begin(w, events.MediaType, s.WriteTimeout), start, batches)
	return nil
}

// positionIn a request: that of the last event that its browser had.
func positionIn(r *http.Request) string {
	if after := r.Header.Get("Last-Event-ID"); after != "" {
		return after
	}
	return r.URL.Query().Get(ParamAfter)
}

// send batches until there are no more, or nobody takes them.
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

// readBatches of a log behind a position: those lines together that need not be waited for. The last batch
// has the error. It ends early where nobody takes them.
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
