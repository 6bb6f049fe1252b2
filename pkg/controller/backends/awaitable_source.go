package backends

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

// AwaitableSource is a source whose WaitForSync may be called before Start: a controller that does not run
// yet keeps a source until it does.
type AwaitableSource struct {
	source.SyncingSource
	started chan struct{}
}

// NewAwaitableSource wraps a source that has not started.
func NewAwaitableSource(s source.SyncingSource) *AwaitableSource {
	return &AwaitableSource{SyncingSource: s, started: make(chan struct{})}
}

func (s *AwaitableSource) Start(ctx context.Context, q turn.Queue) error {
	defer close(s.started)
	return s.SyncingSource.Start(ctx, q)
}

func (s *AwaitableSource) WaitForSync(ctx context.Context) error {
	select {
	case <-s.started:
		return s.SyncingSource.WaitForSync(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}
