package reportserver

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// wakeEvery is the least time between two wakes of one job, unless there is urgent news.
	wakeEvery = 15 * time.Second
	// maxJobs are remembered; beyond them the one that was silent for longest is forgotten, until it reports again.
	maxJobs = 20000
)

// Inbox holds the newest word of every job's rank 0, in memory alone: after a change of the leader it fills up again with the
// agents' next reports. It is a source for the controller, whose queue it wakes jobs in.
type Inbox struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	jobs  *lru.Cache
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// early are the jobs to wake once there is a queue.
	early map[types.NamespacedName]bool
}

type entry struct {
	received Received
	woken    time.Time
	// untold: something is new since the last wake.
	untold bool
}

// NewInbox is empty.
func NewInbox(c clock.PassiveClock) *Inbox {
	return &Inbox{clock: c, jobs: lru.New(maxJobs), early: map[types.NamespacedName]bool{}}
}

// Start gives the Inbox the controller's queue: Inbox is a source.Source, for controller.Watch.
func (i *Inbox) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue = queue
	for name := range i.early {
		queue.Add(reconcile.Request{NamespacedName: name})
	}
	clear(i.early)
	return nil
}

// Latest is what is known of a job; false: nothing.
func (i *Inbox) Latest(job types.UID) (Received, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.jobs.Get(job); ok {
		return e.(*entry).received, true
	}
	return Received{}, false
}

// Forget a job that is gone.
func (i *Inbox) Forget(job types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.jobs.Remove(job)
}

// take a report. unwritten: it has what must be persisted and is not yet, so the reconciler is woken whatever it was told before.
func (i *Inbox) take(name types.NamespacedName, job types.UID, r *checkpoint.Report, over, unwritten bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := &entry{}
	if known, ok := i.jobs.Get(job); ok {
		e = known.(*entry)
	} else {
		i.jobs.Add(job, e)
	}
	now := i.clock.Now()
	var what news
	e.received, what = e.received.merge(r, over, now)
	if unwritten {
		what = urgent
	}
	if what > nothing {
		e.untold = true
	}
	if what == urgent || e.untold && now.Sub(e.woken) >= wakeEvery {
		e.untold, e.woken = false, now
		i.wake(name)
	}
}

// wake never blocks: a queue takes each job once.
func (i *Inbox) wake(name types.NamespacedName) {
	if i.queue == nil {
		i.early[name] = true
		return
	}
	i.queue.Add(reconcile.Request{NamespacedName: name})
}
