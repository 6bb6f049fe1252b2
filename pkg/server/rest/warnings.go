package rest

import (
	"context"
	"slices"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// WarningHandler passes what a cluster warns of on to whose request it is about. It is to be the
// WarningHandlerWithContext of the rest.Config that Access acts with. Other warnings are dropped.
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
	mu   sync.Mutex
	said []string
}

// maxWarnings of one answer.
const maxWarnings = 20

func collectWarnings(ctx context.Context) (context.Context, *warnings) {
	w := &warnings{}
	return context.WithValue(ctx, warningsKey{}, w), w
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.said) < maxWarnings && !slices.Contains(w.said, text) {
		w.said = append(w.said, text)
	}
}

// headers are the warnings as RFC 7234 has them. Those that cannot be put so are left out.
func (w *warnings) headers() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, text := range w.said {
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			all = append(all, header)
		}
	}
	return all
}
