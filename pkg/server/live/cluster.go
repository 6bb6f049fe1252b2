package live

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/rand"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Bounds of what is kept for subscribers.
const (
	// kept is the number of past changes after which a subscription can begin.
	kept = 4096
	// queued is the number of changes that a subscriber can lag behind.
	queued = 1024
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
	// changes are the latest ones: change n is at (n-1) % kept.
	changes     []Event
	subscribers map[*Subscription]struct{}
	closed      bool
}

func newCluster(name string, from Informers) *Cluster {
	return &Cluster{
		name: name, informers: from, process: rand.String(10), subscribers: map[*Subscription]struct{}{},
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

// changed notifies the subscribers. The caller holds the lock.
func (c *Cluster) changed(what Change, job *v1alpha1.TrainingJob) {
	c.sequence++
	e := Event{Change: what, Job: job, Position: c.position(), encoded: &encoding{}}
	if len(c.changes) < kept {
		c.changes = append(c.changes, e)
	} else {
		c.changes[(c.sequence-1)%kept] = e
	}
	for s := range c.subscribers {
		if !s.filter.passes(job) {
			continue
		}
		select {
		case s.events <- e:
		default: // it lags too far behind
			c.drop(s)
		}
	}
}

// since returns the changes after a position, or false if some of them are no longer kept. The caller holds
// the lock.
func (c *Cluster) since(after string, filter Filter) ([]Event, bool) {
	from, ok := c.parse(after)
	if !ok || from > c.sequence || c.sequence-from > uint64(len(c.changes)) {
		return nil, false
	}
	var events []Event
	for n := from + 1; n <= c.sequence; n++ {
		if e := c.changes[(n-1)%kept]; filter.passes(e.Job) {
			events = append(events, e)
		}
	}
	return events, true
}

// drop a subscriber. The caller holds the lock.
func (c *Cluster) drop(s *Subscription) {
	if _, has := c.subscribers[s]; has {
		delete(c.subscribers, s)
		close(s.events)
	}
}

func (c *Cluster) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for s := range c.subscribers {
		c.drop(s)
	}
}
