package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"mlplatform.example.com/trainingjob-operator/pkg/server/events"
)

// streamTo begins a response of status 200 that is sent as it is written.
func (s *Server) streamTo(ctx huma.Context, mediaType string) *events.Writer {
	_, w := humago.Unwrap(ctx)
	out := events.Begin(w, mediaType, s.WriteTimeout)
	ctx.SetStatus(http.StatusOK)
	return out
}

// whileAllowed returns a context that ends at the time limit of streams, or when the caller loses the right.
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
