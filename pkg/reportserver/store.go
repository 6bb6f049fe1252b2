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
	// wakeInterval is the least time between two wake-ups of a job, unless a report is urgent.
	wakeInterval = 15 * time.Second
	// rehearsalInterval is that of rehearsals, which end their attempts by their steps.
	rehearsalInterval = 3 * time.Second
	// Urgent reports wake the job at once, up to urgentBurst of them, and one more in each urgentInterval:
	// rank 0 can send one each second, and each wake-up costs a status write.
	urgentInterval = 10 * time.Second
	urgentBurst    = 6
	// maxJobs are kept. Beyond them the least recently reporting job is removed until it reports again.
	maxJobs = 20000
)

// Store keeps the latest report of every job, in memory: a new leader gets the agents' next reports. As a
// source.Source it wakes the jobs that have news.
//
// The reconciler reads a job's reports as of its last wake-up, so reports cause as few status writes as
// wake-ups, whatever rank 0 sends. A later report delivers what is held back; the pod's termination message
// has the last part.
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
	// visible is what was received until the job's last wake-up, at lastWake.
	visible  received
	lastWake time.Time
	// pending is the urgency of later reports.
	pending urgency
	// stepTimes measure the time of a step.
	stepTimes stepTimes
	// urgent limits urgent wake-ups.
	urgent allowance.Allowance
}

func newStore(c clock.PassiveClock) *Store {
	return &Store{clock: c, jobs: lru.New(maxJobs), waiting: map[types.NamespacedName]int{}}
}

// Start receives the controller's queue.
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

// Latest returns the newest visible report of the job's rank 0, with the newest commit of that attempt. It
// returns false if rank 0 has not reported to this leader.
func (s *Store) Latest(job types.UID) (observation.Reported, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.jobs.Get(job); ok {
		return e.(*entry).visible.latest()
	}
	return observation.Reported{}, false
}

// Reported returns when the job's rank 0 last reported, with or without news, and from which attempt. It
// returns false if rank 0 has not reported to this leader.
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

// Forget removes a deleted job.
func (s *Store) Forget(job types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.Remove(job)
}

// add adds a report. unwritten: it has a commit that the status lacks, so the job is woken even if it was
// woken for that commit before.
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
	now, before := s.clock.Now(), e.received.report
	var news urgency
	e.received, news = e.received.merge(r, attemptOver, now)
	if newest := e.received.report; newest != before {
		e.stepTimes = e.stepTimes.add(newest, now)
	}
	e.pending = max(e.pending, news)
	switch {
	case unwritten && e.pending == noNews: // the reconciler has read it, but not written it
		s.wake(name, turn.Urgent)
		return
	case unwritten:
		e.pending = urgent
	}
	interval := wakeInterval
	if len(r.Rehearsal) > 0 { // checkReport takes such a report only from a rehearsal
		interval = rehearsalInterval
	}
	due := e.pending > noNews && now.Sub(e.lastWake) >= interval
	priority := turn.Usual
	if e.pending == urgent {
		priority = turn.Urgent
	}
	if due || e.pending == urgent && e.urgent.Take(now) {
		e.visible, e.lastWake, e.pending = e.received, now, noNews
		s.wake(name, priority)
	}
}

// wake never blocks: the queue is unbounded and has each job once.
func (s *Store) wake(name types.NamespacedName, priority int) {
	if s.queue == nil {
		s.waiting[name] = max(s.waiting[name], priority)
		return
	}
	turn.Take(s.queue, name, priority, 0)
}
