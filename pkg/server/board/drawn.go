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

// maxDrawn parts of pages are cached: a thousand ranks have some hundred kilobytes.
const maxDrawn = 128

// Intervals to which the time of job pages is rounded, so that viewers share them. The page of a finished or
// deleted job changes only when the history learns something late.
const (
	drawnEvery     = 5 * time.Second
	drawnEveryDone = time.Minute
)

// drawnAt returns the rounded time for the page of a job.
func drawnAt(job *history.Job, now time.Time) time.Time {
	if job.Phase.Finished() || job.Deleted != nil || job.DeletedBefore != nil {
		return now.Truncate(drawnEveryDone)
	}
	return now.Truncate(drawnEvery)
}

// drawn caches parts of job pages, shared by all viewers with the same rights. The zero value is empty.
type drawn struct {
	mu   sync.Mutex
	kept *lru.Cache
	// rendered counts cache misses.
	rendered atomic.Int64
}

// drawnKey names a part of a page. Its last version is cached.
type drawnKey struct {
	cluster string
	uid     types.UID
	from    drawnFrom
	by      jobview.Axis
}

// drawnFrom is the source of a part.
type drawnFrom int

const (
	drawnStatus drawnFrom = iota
	// drawnRecord: the record alone.
	drawnRecord
	// drawnPods: the server's own watches.
	drawnPods
)

// drawnPage is the last version of a part.
type drawnPage struct {
	mu        sync.Mutex // while it is drawn: others wait for it
	version   [sha256.Size]byte
	fragments []fragment.Fragment
}

// of returns a version of a part of a page. If the cached one differs, it calls draw, which also reports
// whether the part is complete; incomplete ones are not cached. An error concerns this caller alone.
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

// versionOf hashes the input of the sections of a page without the samples: the record has the positions of
// the job and of the history. The explanation and the timeline follow from these and from the time, but for
// the job's rehearsals, which depend on other jobs and on the caller's rights.
func versionOf(in *jobview.Input) ([sha256.Size]byte, error) {
	record, err := json.Marshal(in.Record)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encoding a record: %w", err)
	}
	live := ""
	if in.Live != nil {
		live = in.Live.ResourceVersion
	}
	rehearsed := []byte("null")
	if e := in.Explanation; e != nil {
		if rehearsed, err = json.Marshal([]any{e.Rehearsed, e.Unknown}); err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("encoding an explanation: %w", err)
		}
	}
	head := fmt.Sprintf("%q %q %q %q %d\n", live, rehearsed,
		in.Links.Page, strings.Join(in.Notes, "\n"), in.Now.UnixNano())
	return sha256.Sum256(append([]byte(head), record...)), nil
}
