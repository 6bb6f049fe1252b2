package rest

import (
	"context"
	"slices"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// WarningHandler adds a cluster's warnings to the response of the request that caused them. Use it as
// WarningHandlerWithContext of the rest.Config with which Access acts. It drops other warnings.
type WarningHandler struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (WarningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if w, ok := ctx.Value(warningsKey{}).(*warnings); ok && code == 299 {
		w.add(text)
	}
}

type warningsKey struct{}

// warnings of one request.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// maxWarnings of one response.
const maxWarnings = 20

func collectWarnings(ctx context.Context) (context.Context, *warnings) {
	w := &warnings{}
	return context.WithValue(ctx, warningsKey{}, w), w
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) < maxWarnings && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// headers returns the warnings in the format of RFC 7234, without those that it cannot express.
func (w *warnings) headers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, text := range w.texts {
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			all = append(all, header)
		}
	}
	return all
}
