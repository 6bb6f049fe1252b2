package board

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/jobview"
)

// maxDrawn parts of pages are kept: a thousand ranks have some hundred kilobytes.
const maxDrawn = 128

// Pages of jobs are drawn as of these times, so that viewers share them. A job that has finished or is gone
// changes with what the history learns late alone.
const (
	drawnEvery     = 5 * time.Second
	drawnEveryDone = time.Minute
)

// drawnAt is the time as of which the page of a job is drawn.
func drawnAt(job *history.Job, now time.Time) time.Time {
	if job.Phase.Finished() || job.Deleted != nil || job.DeletedBefore != nil {
		return now.Truncate(drawnEveryDone)
	}
	return now.Truncate(drawnEvery)
}

// drawn are parts of the pages of jobs, which all share who may see the same of a job. The zero one has
// none.
type drawn struct {
	mu   sync.Mutex
	kept *lru.Cache
	// rendered counts those that were not kept.
	rendered atomic.Int64
}

// drawnKey names a part of a page. Of each the last version is kept.
type drawnKey struct {
	cluster string
	uid     types.UID
	from    drawnFrom
	by      jobview.Axis
}

// drawnFrom is what a part is drawn from.
type drawnFrom int

const (
	drawnStatus drawnFrom = iota
	// drawnRecord: the job is not asked.
	drawnRecord
	// drawnPods: the server's own watches are.
	drawnPods
)

// drawnPage is the last version of a part.
type drawnPage struct {
	mu        sync.Mutex // while it is drawn: others wait for it
	version   [sha256.Size]byte
	fragments []fragment.Fragment
}

// of returns the version of a part of a page. A function draws it where the last one is another, and reports
// whether it is whole: others are not kept. Its errors are its caller's alone.
func (d *drawn) of(
	key drawnKey, version [sha256.Size]byte,
	draw func() (part []fragment.Fragment, whole bool, err error),
) ([]fragment.Fragment, error) {
	p := d.page(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version == version && p.fragments != nil {
		return p.fragments, nil
	}
	d.rendered.Add(1)
	fragments, whole, err := draw()
	if err != nil {
		return nil, err
	}
	if whole {
		p.version, p.fragments = version, fragments
	}
	return fragments, nil
}

func (d *drawn) page(key drawnKey) *drawnPage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil {
		d.kept = lru.New(maxDrawn)
	}
	if kept, has := d.kept.Get(key); has {
		return kept.(*drawnPage)
	}
	p := &drawnPage{}
	d.kept.Add(key, p)
	return p
}

// versionOf what the sections of a page are drawn from, but for samples: the record has the positions of the
// job and of the history. The explanation and the timeline follow from them and from the time.
func versionOf(in *jobview.Input) ([sha256.Size]byte, error) {
	record, err := json.Marshal(in.Record)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encoding a record: %w", err)
	}
	live := ""
	if in.Live != nil {
		live = in.Live.ResourceVersion
	}
	head := fmt.Sprintf("%q %q %q %d\n", live, in.Links.Page, strings.Join(in.Notes, "\n"), in.Now.UnixNano())
	return sha256.Sum256(append([]byte(head), record...)), nil
}
