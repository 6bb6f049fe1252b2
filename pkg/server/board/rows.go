package board

import (
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
)

// maxRows that are kept, about a kilobyte each.
const maxRows = 20_000

// rows of jobs that were rendered, which all who see them share.
type rows struct {
	mu   sync.Mutex // between asking for a row and adding it
	kept *lru.Cache
	// rendered counts those that were not kept.
	rendered atomic.Int64
}

// rowKey is all that a row depends on.
type rowKey struct {
	cluster         string
	uid             types.UID
	resourceVersion string
}

func newRows() *rows { return &rows{kept: lru.New(maxRows)} }

// of returns the row of a job, which a function renders where it is not kept.
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

// row that is kept, or will be rendered by the first who needs it.
type row struct {
	once sync.Once
	of   fragment.Fragment
	err  error // the same each time: a row is a function of its job
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
