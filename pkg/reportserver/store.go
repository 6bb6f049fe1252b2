package reportserver

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

const (
	// wakeInterval is the least time after which a job's news are told, unless they are urgent.
	wakeInterval = 15 * time.Second
	// Urgent news are told at once, up to urgentBurst of them, and one more in each urgentInterval: rank 0 may
	// send something urgent each second, and each time costs a write of the status.
	urgentInterval = 10 * time.Second
	urgentBurst    = 6
	// maxJobs are kept. Beyond them the job that was silent for longest is forgotten until it reports again.
	maxJobs = 20000
)

// Store keeps the latest report of every job, in memory only: after a change of leader it fills again
// with the agents' next reports. As a source.Source it wakes the jobs that have news.
//
// The reconciler sees a job's reports as they were when it was last woken for them, however often it looks:
// so the writes of the status that reports cause are as few as the wake-ups, whatever rank 0 sends. What is
// held back is told with a later report; the last of it, when a pod ends, is in its termination message too.
type Store struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	jobs  *lru.Cache
	queue turn.Queue
	// waiting are the jobs to wake once there is a queue, with their priority.
	waiting map[types.NamespacedName]int
}

type entry struct {
	received received
	// told is what was received until the reconciler was last woken for it, at lastTold.
	told     received
	lastTold time.Time
	// untold is how urgent it is to tell what came since.
	untold urgency
	// urgent news that may be told at once.
	urgent allowance.Allowance
}

func newStore(c clock.PassiveClock) *Store {
	return &Store{clock: c, jobs: lru.New(maxJobs), waiting: map[types.NamespacedName]int{}}
}

// Start gives the Store the controller's queue.
func (s *Store) Start(_ context.Context, queue turn.Queue) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = queue
	for name, priority := range s.waiting {
		turn.Take(queue, name, priority, 0)
	}
	clear(s.waiting)
	return nil
}

// Latest returns the newest report of the job's rank 0 that the reconciler was woken for, with the newest
// commit of that attempt. It returns false if rank 0 has not reported since this process leads.
func (s *Store) Latest(job types.UID) (observation.Reported, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.jobs.Get(job); ok {
		return e.(*entry).told.latest()
	}
	return observation.Reported{}, false
}

// Reported returns when the job's rank 0 last reported, whether or not it had news, and from which attempt.
// It returns false if rank 0 has not reported since this process leads.
func (s *Store) Reported(job types.UID) (attempt int32, at time.Time, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.jobs.Get(job); ok {
		if k := e.(*entry).received; k.report != nil {
			return k.report.Attempt, k.time, true
		}
	}
	return 0, time.Time{}, false
}

// Forget drops a job that is gone.
func (s *Store) Forget(job types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.Remove(job)
}

// add a report. unwritten: it has a commit that the status lacks, so the reconciler is woken even if it
// was woken for that commit before.
func (s *Store) add(name types.NamespacedName, job types.UID, r *checkpoint.Report, attemptOver,
	unwritten bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &entry{urgent: allowance.Allowance{Interval: urgentInterval, Burst: urgentBurst}}
	if known, ok := s.jobs.Get(job); ok {
		e = known.(*entry)
	} else {
		s.jobs.Add(job, e)
	}
	now := s.clock.Now()
	var news urgency
	e.received, news = e.received.merge(r, attemptOver, now)
	e.untold = max(e.untold, news)
	switch {
	case unwritten && e.untold == noNews: // the reconciler knows it, and has not written it
		s.wake(name, turn.Urgent)
		return
	case unwritten:
		e.untold = urgent
	}
	due := e.untold > noNews && now.Sub(e.lastTold) >= wakeInterval
	priority := turn.Usual
	if e.untold == urgent {
		priority = turn.Urgent
	}
	if due || e.untold == urgent && e.urgent.Take(now) {
		e.told, e.lastTold, e.untold = e.received, now, noNews
		s.wake(name, priority)
	}
}

// wake never blocks: the queue is unbounded and holds each job once.
func (s *Store) wake(name types.NamespacedName, priority int) {
	if s.queue == nil {
		s.waiting[name] = max(s.waiting[name], priority)
		return
	}
	turn.Take(s.queue, name, priority, 0)
}
