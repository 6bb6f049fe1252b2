package recorder

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// version of a job that was seen.
type version struct {
	uid             types.UID
	namespace, name string
	resourceVersion string
	// deleting: it waits for our finalizer. gone: it is no longer in the cache.
	deleting, gone bool
}

// entry is what is to be written of one job.
type entry struct {
	// version is the latest that was seen.
	version
	// record joins all versions since the last write; where it was given up, reread says to make it from the
	// cache instead.
	record history.Record
	reread bool
	size   int
	// since is when the first of the versions was seen.
	since time.Time
}

// pending is what is to be written: for each job one entry, in the order in which they came. Records of all
// together take at most limit bytes, by the estimate of sizeOf.
type pending struct {
	limit   int
	metrics *metrics
	now     func() time.Time
	// wake has a token when there is something to take.
	wake chan struct{}

	mu      sync.Mutex
	order   *list.List // of *entry
	entries map[types.UID]*list.Element
	bytes   int
	taken   []*entry // being written
}

func newPending(limit int, m *metrics, now func() time.Time) *pending {
	return &pending{
		limit: limit, metrics: m, now: now, wake: make(chan struct{}, 1),
		order: list.New(), entries: map[types.UID]*list.Element{},
	}
}

// add a record of a version.
func (p *pending) add(record history.Record, v version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(&entry{version: v, record: record, since: p.now()})
	p.ring()
}

// put an entry, joined to the one that is there. The caller holds the lock. newer is what was seen last.
func (p *pending) put(newer *entry) {
	if element := p.entries[newer.uid]; element != nil {
		e := element.Value.(*entry)
		p.bytes -= e.size
		e.join(newer)
		newer = e
	} else {
		p.entries[newer.uid] = p.order.PushBack(newer)
	}
	newer.size = sizeOf(&newer.record)
	p.bytes += newer.size
	if p.bytes > p.limit {
		p.shed(newer)
	}
}

// join what was seen later.
func (e *entry) join(newer *entry) {
	gone := e.gone || newer.gone
	switch {
	case e.reread && newer.reread, !gone && (e.reread || newer.reread):
		e.record, e.reread = history.Record{}, true
	case e.reread: // a deleted job is in no cache to be read from: what there is of it counts
		e.record, e.reread = newer.record, false
	case !newer.reread:
		e.record = history.Merge(e.record, newer.record)
	}
	if newer.since.Before(e.since) {
		e.since = newer.since
	}
	e.version = newer.version
	e.gone = gone
}

// shed what can be had otherwise: of a live job its record, which is made from the cache later. For a deleted
// job the others make room; where that is not enough, all of it goes but the deletion.
func (p *pending) shed(last *entry) {
	if !last.gone {
		p.giveUp(last)
		return
	}
	for element := p.order.Front(); element != nil; element = element.Next() {
		if e := element.Value.(*entry); !e.gone && !e.reread {
			p.giveUp(e)
		}
	}
	if p.bytes > p.limit {
		job := last.record.Job
		p.resize(last, history.Gone(job.Key, job.Deleted, job.DeletedBefore))
		p.metrics.shed(shedDeleted)
	}
}

func (p *pending) giveUp(e *entry) {
	e.reread = true
	p.resize(e, history.Record{})
	p.metrics.shed(shedVersions)
}

func (p *pending) resize(e *entry, record history.Record) {
	p.bytes -= e.size
	e.record = record
	e.size = sizeOf(&e.record)
	p.bytes += e.size
}

// take at most n entries, the oldest first. They count as pending until written or putBack is called.
func (p *pending) take(n int) []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = nil
	for len(p.taken) < n && p.order.Len() > 0 {
		e := p.order.Remove(p.order.Front()).(*entry)
		delete(p.entries, e.uid)
		p.bytes -= e.size
		p.taken = append(p.taken, e)
	}
	return p.taken
}

// written forgets what was taken.
func (p *pending) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = nil
}

// putBack what was taken and could not be written, behind the others.
func (p *pending) putBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.taken {
		if element := p.entries[e.uid]; element != nil { // a later version has come meanwhile
			later := p.order.Remove(element).(*entry)
			delete(p.entries, e.uid)
			p.bytes -= later.size
			e.join(later)
		}
		p.put(e)
	}
	p.taken = nil
	p.ring()
}

// len is how many jobs have something that is not written.
func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.order.Len() + len(p.taken)
}

// oldest is when the first was seen of what is not written; zero where all is.
func (p *pending) oldest() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var oldest time.Time
	consider := func(e *entry) {
		if oldest.IsZero() || e.since.Before(oldest) {
			oldest = e.since
		}
	}
	for element := p.order.Front(); element != nil; element = element.Next() {
		consider(element.Value.(*entry))
	}
	for _, e := range p.taken {
		consider(e)
	}
	return oldest
}

func (p *pending) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// sizeOf a record in memory, roughly: its long texts, and a fixed size for each thing that it lists.
func sizeOf(r *history.Record) int {
	things := 2 + len(r.Attempts) + len(r.Transitions) + len(r.Preemptions) + len(r.Samples) + len(r.Checkpoints)
	size := len(r.Job.Manifest) + len(r.Job.Message) + 200*things
	for _, s := range r.Samples {
		size += 64 * len(s.Metrics)
	}
	return size
}
