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
	// queue of its namespace in which it waits.
	queue *list.List
	// since is when the first of the versions was observed.
	since time.Time
}

// pending are the unwritten entries, one for each job. Namespaces take turns, and those of one namespace are
// in the order of arrival: a namespace with many changes does not delay others. The records take at most
// limit bytes, by the estimate of sizeOf.
type pending struct {
	limit   int
	metrics *metrics
	now     func() time.Time
	// wake has a token when there are entries.
	wake chan struct{}

	mu sync.Mutex
	// turns are the namespaces with entries, the next one first; waiting has the entries of each.
	turns   *list.List            // of string
	waiting map[string]*list.List // of *entry
	entries map[types.UID]*list.Element
	bytes   int
	taken   []*entry // being written
}

func newPending(limit int, m *metrics, now func() time.Time) *pending {
	return &pending{
		limit: limit, metrics: m, now: now, wake: make(chan struct{}, 1),
		turns: list.New(), waiting: map[string]*list.List{}, entries: map[types.UID]*list.Element{},
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
		p.push(newer)
	}
	newer.size = sizeOf(&newer.record)
	p.bytes += newer.size
	if p.bytes > p.limit {
		p.shed(newer)
	}
}

// push appends an entry to those of its namespace.
func (p *pending) push(e *entry) {
	of := p.waiting[e.namespace]
	if of == nil {
		of = list.New()
		p.waiting[e.namespace] = of
		p.turns.PushBack(e.namespace)
	}
	e.queue, p.entries[e.uid] = of, of.PushBack(e)
}

// remove removes an entry. Its namespace keeps its turn, which next skips if it has no entries.
func (p *pending) remove(element *list.Element) *entry {
	e := element.Value.(*entry)
	e.queue.Remove(element)
	delete(p.entries, e.uid)
	p.bytes -= e.size
	return e
}

// next removes the oldest entry of the next namespace; nil if there is none.
func (p *pending) next() *entry {
	for turn := p.turns.Front(); turn != nil; turn = p.turns.Front() {
		of := p.waiting[turn.Value.(string)]
		if first := of.Front(); first != nil {
			p.turns.MoveToBack(turn)
			return p.remove(first)
		}
		delete(p.waiting, p.turns.Remove(turn).(string))
	}
	return nil
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
	for _, element := range p.entries {
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

// take takes at most n entries. They are pending until written or putBack is called.
func (p *pending) take(n int) []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = nil
	for len(p.taken) < n && len(p.entries) > 0 {
		p.taken = append(p.taken, p.next())
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
			e.join(p.remove(element))
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
	return len(p.entries) + len(p.taken)
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
	for _, element := range p.entries {
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
	size := len(r.Job.Manifest) + len(r.Job.Message) + len(r.Job.User) + 200*things
	for _, s := range r.Samples {
		size += len(s.Epoch)
		for key, value := range s.Metrics {
			size += 64 + len(key) + len(value)
		}
	}
	for _, p := range r.Preemptions {
		size += len(p.Message)
	}
	for _, c := range r.Checkpoints {
		size += len(c.URI)
	}
	return size
}
