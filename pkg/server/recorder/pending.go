package recorder

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// version of a job.
type version struct {
	uid             types.UID
	namespace, name string
	resourceVersion string
	// deleting: it waits for our finalizer. gone: it is no longer in the cache.
	deleting, gone bool
}

// entry is the unwritten part of one job.
type entry struct {
	// version is the latest one.
	version
	// record joins all versions since the last write; reread means that it was dropped and is made from the
	// cache instead.
	record history.Record
	reread bool
	size   int
	// since is when the first of the versions was observed.
	since time.Time
}

// pending are the unwritten entries, one for each job, in the order of arrival. Their records take at most
// limit bytes, by the estimate of sizeOf.
type pending struct {
	limit   int
	metrics *metrics
	now     func() time.Time
	// wake has a token when there are entries.
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

// add adds the record of a version.
func (p *pending) add(record history.Record, v version) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(&entry{version: v, record: record, since: p.now()})
	p.ring()
}

// put adds or joins an entry. The caller holds the lock. newer was observed last.
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

// join adds a later observation.
func (e *entry) join(newer *entry) {
	gone := e.gone || newer.gone
	switch {
	case e.reread && newer.reread, !gone && (e.reread || newer.reread):
		e.record, e.reread = history.Record{}, true
	case e.reread: // no cache has a deleted job: keep what there is
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

// shed drops what can be read again: the record of a live job, which is made from the cache later. If that
// does not suffice, it drops everything about deleted jobs except the deletion.
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

// take takes at most n entries, the oldest first. They are pending until written or putBack is called.
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

// written removes the entries that were taken.
func (p *pending) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = nil
}

// putBack appends the entries that could not be written.
func (p *pending) putBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.taken {
		if element := p.entries[e.uid]; element != nil { // a later version has arrived
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

// len returns the number of jobs with unwritten changes.
func (p *pending) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.order.Len() + len(p.taken)
}

// oldest returns when the first unwritten change was observed; zero if there is none.
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

// sizeOf estimates the memory of a record: its long texts, and a fixed size for each list entry.
func sizeOf(r *history.Record) int {
	things := 2 + len(r.Attempts) + len(r.Transitions) + len(r.Preemptions) + len(r.Samples) + len(r.Checkpoints)
	size := len(r.Job.Manifest) + len(r.Job.Message) + 200*things
	for _, s := range r.Samples {
		size += 64 * len(s.Metrics)
	}
	return size
}
