package placement

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// sink is a reflector's store. It passes objects on and keeps none.
type sink struct {
	cluster *cluster
	of      *source
	example any
	trim    toolscache.TransformFunc
	// Functions called with the cluster's lock held.
	set, drop func(any)
	replace   func([]any)
}

var _ toolscache.TransformingStore = &sink{}

// Add, Update, Delete, Replace and Resync implement toolscache.ReflectorStore.
func (s *sink) Add(o any) error    { s.locked(func() { s.set(o) }); return nil }
func (s *sink) Update(o any) error { s.locked(func() { s.set(o) }); return nil }
func (s *sink) Delete(o any) error { s.locked(func() { s.drop(o) }); return nil }
func (s *sink) Resync() error      { return nil }

// Replace receives all objects.
func (s *sink) Replace(all []any, _ string) error {
	s.locked(func() {
		s.replace(all)
		if !s.of.listed {
			s.of.listed = true
			s.cluster.changed()
		}
	})
	return nil
}

// Transformer implements toolscache.TransformingStore.
func (s *sink) Transformer() toolscache.TransformFunc { return s.trim }

func (s *sink) locked(do func()) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	do()
}

func setIf[T any](o any, do func(T)) {
	if t, ok := o.(T); ok {
		do(t)
	}
}

func typed[T any](all []any) []T {
	list := make([]T, 0, len(all))
	for _, o := range all {
		setIf(o, func(t T) { list = append(list, t) })
	}
	return list
}

// watched records the result of each request of a ListerWatcher.
type watched struct {
	toolscache.ListerWatcherWithContext
	from   toolscache.ListerWatcher
	record func(error)
}

// ListWithContext implements toolscache.ListerWithContext.
func (w *watched) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := w.ListerWatcherWithContext.ListWithContext(ctx, o)
	w.went(ctx, err)
	return list, err
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (w *watched) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	events, err := w.ListerWatcherWithContext.WatchWithContext(ctx, o)
	w.went(ctx, err)
	return events, err
}

// went records the result, unless the process ends.
func (w *watched) went(ctx context.Context, err error) {
	if ctx.Err() == nil {
		w.record(err)
	}
}

// List and Watch implement toolscache.ListerWatcher, whose callers prefer those with a context.
func (w *watched) List(o metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), o)
}

// Watch is toolscache.Watcher's.
func (w *watched) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), o)
}

// IsWatchListSemanticsUnSupported is what a reflector asks of sources in tests.
func (w *watched) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(w.from)
}
