package board

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// maxRows in the cache, about a kilobyte each.
const maxRows = 20_000

// rows caches rendered rows of jobs, shared by all viewers.
type rows struct {
	mu   sync.Mutex // between looking for a row and adding it
	kept *lru.Cache
	// rendered counts cache misses.
	rendered atomic.Int64
}

// rowKey is everything that a row depends on.
type rowKey struct {
	cluster         string
	uid             types.UID
	resourceVersion string
}

func newRows() *rows { return &rows{kept: lru.New(maxRows)} }

// of returns the row of a job, from the cache or from render.
func (r *rows) of(
	cluster string, job *v1alpha1.TrainingJob, render func() (fragment.Fragment, error),
) (fragment.Fragment, error) {
	row := r.row(rowKey{cluster, job.UID, job.ResourceVersion})
	row.once.Do(func() {
		r.rendered.Add(1)
		row.of, row.err = render()
	})
	return row.of, row.err
}

// row that the first caller renders.
type row struct {
	once sync.Once
	of   fragment.Fragment
	err  error // cached, too: a row is a function of its job
}

func (r *rows) row(key rowKey) *row {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept, has := r.kept.Get(key); has {
		return kept.(*row)
	}
	made := &row{}
	r.kept.Add(key, made)
	return made
}
