package live

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Bounds of the past changes of a cluster. A subscription can begin after each of them, and lag behind as
// far.
const (
	kept = 4096
	// keptBytes of memory, measured with sizeOf: of all changes, and of those of one job. Of a job with more,
	// the last version is kept and former ones are not.
	keptBytes      = 64 << 20
	keptBytesOfJob = 8 << 20
)

// Cluster holds the jobs of one cluster and their latest changes.
type Cluster struct {
	name      string
	informers Informers
	synced    atomic.Bool
	// process distinguishes positions of this process from those of others.
	process string

	mu   sync.Mutex
	jobs []*v1alpha1.TrainingJob // by namespace and name
	// sequence of the last change. The first is 1.
	sequence uint64
	// changes from the sequence first on: change n is at n % kept.
	changes [kept]past
	first   uint64
	// bytes of all changes, and of each job's.
	bytes       int
	ofJobs      map[types.UID]*pastOfJob
	subscribers map[*Subscription]struct{}
	closed      bool
}

// past is a change that is kept. It has no job if only later versions of the job are kept.
type past struct {
	Event
	bytes int
}

// pastOfJob are the sequences of the changes of one job, and their bytes.
type pastOfJob struct {
	sequences []uint64
	bytes     int
}

func newCluster(name string, from Informers) *Cluster {
	return &Cluster{
		name: name, informers: from, process: rand.String(10), first: 1, ofJobs: map[types.UID]*pastOfJob{},
		subscribers: map[*Subscription]struct{}{},
	}
}

// View is all jobs of a cluster at one moment.
type View struct {
	// Jobs by namespace and name. They are shared: read only.
	Jobs []*v1alpha1.TrainingJob
	// Position of the moment.
	Position string
}

// Namespaces that have jobs, sorted.
func (v View) Namespaces() []string {
	var all []string
	for _, job := range v.Jobs {
		if n := len(all); n == 0 || all[n-1] != job.Namespace {
			all = append(all, job.Namespace)
		}
	}
	return all
}

func (c *Cluster) view() (View, error) {
	if !c.synced.Load() {
		return View{}, ErrNotSynced
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return View{Jobs: slices.Clone(c.jobs), Position: c.position()}, nil
}

func compareJobs(a, b *v1alpha1.TrainingJob) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// set a job that was added or has changed. It ignores resyncs of an informer.
func (c *Cluster) set(job *v1alpha1.TrainingJob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := slices.BinarySearchFunc(c.jobs, job, compareJobs)
	switch {
	case !known:
		c.jobs = slices.Insert(c.jobs, i, job)
		c.changed(Added, job)
		return
	case c.jobs[i].UID != job.UID: // the informer missed the deletion of the former one
		c.changed(Deleted, c.jobs[i])
		c.changed(Added, job)
	case c.jobs[i].ResourceVersion != job.ResourceVersion:
		c.changed(Modified, job)
	}
	c.jobs[i] = job
}

func (c *Cluster) remove(job *v1alpha1.TrainingJob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, known := slices.BinarySearchFunc(c.jobs, job, compareJobs)
	if !known || c.jobs[i].UID != job.UID {
		return
	}
	c.jobs = slices.Delete(c.jobs, i, i+1)
	c.changed(Deleted, job)
}

// changed keeps a change and wakes the subscribers. The caller holds the lock.
func (c *Cluster) changed(what Change, job *v1alpha1.TrainingJob) {
	c.sequence++
	if c.sequence-c.first >= kept {
		c.forget(c.first)
		c.first++
	}
	e := Event{Change: what, Job: job, Position: c.position()}
	e.encoded = &encoding{cluster: c, sequence: c.sequence}
	c.changes[c.sequence%kept] = past{Event: e}
	of := c.ofJobs[job.UID]
	if of == nil {
		of = &pastOfJob{}
		c.ofJobs[job.UID] = of
	}
	of.sequences = append(of.sequences, c.sequence)
	c.grow(c.sequence, sizeOf(reflect.ValueOf(job)))
	for s := range c.subscribers {
		if s.filter.passes(job) {
			s.ring()
		} else if s.next == c.sequence { // it has all before
			s.next++
		}
	}
}

// grow adds bytes to a change that is kept, and forgets others if that is too much. The caller holds the
// lock.
func (c *Cluster) grow(sequence uint64, bytes int) {
	at := &c.changes[sequence%kept]
	if sequence < c.first || at.Job == nil {
		return
	}
	of := c.ofJobs[at.Job.UID]
	at.bytes += bytes
	of.bytes += bytes
	c.bytes += bytes
	for of.bytes > keptBytesOfJob {
		// A version is in the later ones; that the job was added or deleted is not.
		n := slices.IndexFunc(of.sequences[:len(of.sequences)-1], func(n uint64) bool {
			return c.changes[n%kept].Change == Modified
		})
		if n < 0 {
			break
		}
		c.forget(of.sequences[n])
	}
	for c.bytes > keptBytes && c.first < c.sequence {
		c.forget(c.first)
		c.first++
	}
}

// forget a change, if it is kept. The caller holds the lock.
func (c *Cluster) forget(sequence uint64) {
	at := &c.changes[sequence%kept]
	if at.Job == nil {
		return
	}
	of := c.ofJobs[at.Job.UID]
	of.bytes -= at.bytes
	c.bytes -= at.bytes
	if n := slices.Index(of.sequences, sequence); n >= 0 {
		of.sequences = slices.Delete(of.sequences, n, n+1)
	}
	if len(of.sequences) == 0 {
		delete(c.ofJobs, at.Job.UID)
	}
	*at = past{}
}

// after returns the sequence of the first change after a position, or false if some changes since then are no
// longer kept. The caller holds the lock.
func (c *Cluster) after(position string) (uint64, bool) {
	from, ok := c.parse(position)
	if !ok || from > c.sequence || from+1 < c.first {
		return c.sequence + 1, false
	}
	return from + 1, true
}

func (c *Cluster) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for s := range c.subscribers {
		s.ring()
	}
}
