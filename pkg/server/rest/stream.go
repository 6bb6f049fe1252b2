package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// stream is an answer that is written as it comes.
type stream struct {
	writer     http.ResponseWriter
	controller *http.ResponseController
	timeout    time.Duration
}

// streamTo begins an answer of status 200 on a response.
func (s *Server) streamTo(ctx huma.Context, mediaType string) *stream {
	_, w := humago.Unwrap(ctx)
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it back
	ctx.SetStatus(http.StatusOK)
	return &stream{w, http.NewResponseController(w), s.WriteTimeout}
}

// Write passes bytes on at once. A reader that does not take them in time ends the stream.
func (t *stream) Write(p []byte) (int, error) {
	// The deadline is the connection's, by the machine's clock. One that cannot be set leaves the server's own.
	_ = t.controller.SetWriteDeadline(time.Now().Add(t.timeout))
	n, err := t.writer.Write(p)
	if err == nil {
		err = t.controller.Flush()
	}
	return n, err
}

// whileAllowed ends the context when the longest time of a stream is over, or when the reader may no longer
// read it.
func (s *Server) whileAllowed(ctx context.Context, may func(context.Context) bool) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	end := s.Clock.NewTimer(s.LongestStream)
	again := s.Clock.NewTicker(s.Recheck)
	go func() {
		defer cancel()
		defer end.Stop()
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-end.C():
				return
			case <-again.C():
				if !may(ctx) {
					return
				}
			}
		}
	}()
	return ctx
}
