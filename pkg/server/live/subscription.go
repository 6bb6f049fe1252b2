package live

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Change of a job.
type Change string

// Changes.
const (
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
	// Synced is no change: a resumed subscription has sent all that it missed.
	Synced Change = "synced"
)

// Event is one change of a job.
type Event struct {
	Change Change
	// Job after the change; for a deletion its last known state. Shared: read only. Nil for Synced.
	Job *v1alpha1.TrainingJob
	// Position after the change.
	Position string

	encoded *encoding
}

type encoding struct {
	cluster  *Cluster
	sequence uint64
	once     sync.Once
	data     []byte
	err      error
}

// Encoded returns the job as encode encodes it. All subscribers share the result, so all must pass the same
// function.
func (e Event) Encoded(encode func(*v1alpha1.TrainingJob) ([]byte, error)) ([]byte, error) {
	at := e.encoded
	at.once.Do(func() {
		at.data, at.err = encode(e.Job)
		at.cluster.mu.Lock()
		defer at.cluster.mu.Unlock()
		at.cluster.grow(at.sequence, len(at.data))
	})
	return at.data, at.err
}

// Filter of jobs. Empty fields match all.
type Filter struct {
	Namespace, Name string
}

func (f Filter) passes(job *v1alpha1.TrainingJob) bool {
	return (f.Namespace == "" || f.Namespace == job.Namespace) && (f.Name == "" || f.Name == job.Name)
}

// Subscription is the changes of jobs from a moment on. It reads the changes that its Cluster keeps, and
// keeps none itself.
type Subscription struct {
	// Reset reports whether the subscription starts over, with the matching Jobs at Position. Otherwise the
	// Events begin with the changes since the requested position, and Synced. A reader that goes on for long
	// should set Jobs to nil.
	Reset    bool
	Jobs     []*v1alpha1.TrainingJob
	Position string
	// Namespaces of Jobs, or of the changes before Synced, sorted.
	Namespaces []string

	cluster *Cluster
	filter  Filter
	events  chan Event
	wake    chan struct{}
	ended   chan struct{}
	end     func()
	// next is the sequence of the next change, and begin that of the first one after the beginning.
	next, begin uint64
	synced      bool
}

// Events after the beginning of the subscription. The channel is closed when the changes that the subscriber
// has not received are no longer kept, and when the process ends.
func (s *Subscription) Events() <-chan Event { return s.events }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	delete(s.cluster.subscribers, s)
	s.end()
}

func (c *Cluster) subscribe(filter Filter, after string) (*Subscription, error) {
	if !c.synced.Load() {
		return nil, ErrNotSynced
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Subscription{
		cluster: c, filter: filter, events: make(chan Event), wake: make(chan struct{}, 1),
		ended: make(chan struct{}), Position: c.position(), begin: c.sequence + 1,
	}
	s.end = sync.OnceFunc(func() { close(s.ended) })
	next, resumed := c.after(after)
	s.next, s.Reset, s.synced = next, !resumed, !resumed
	if s.Reset {
		s.Jobs = slices.DeleteFunc(slices.Clone(c.jobs), func(job *v1alpha1.TrainingJob) bool {
			return !filter.passes(job)
		})
	}
	s.Namespaces = View{Jobs: s.Jobs}.Namespaces()
	for n := s.next; n < s.begin; n++ {
		if job := c.changes[n%kept].Job; job != nil && filter.passes(job) {
			s.Namespaces = append(s.Namespaces, job.Namespace)
		}
	}
	slices.Sort(s.Namespaces)
	s.Namespaces = slices.Compact(s.Namespaces)
	c.subscribers[s] = struct{}{}
	go s.send()
	return s, nil
}

// send sends the changes until the subscription ends.
func (s *Subscription) send() {
	defer close(s.events)
	for {
		e, more, over := s.read()
		switch {
		case over:
			return
		case more:
			select {
			case s.events <- e:
			case <-s.ended:
				return
			}
		default:
			select {
			case <-s.wake:
			case <-s.ended:
				return
			}
		}
	}
}

// read returns the next event, if there is one. The subscription is over when the next change is not kept any
// more.
func (s *Subscription) read() (e Event, more, over bool) {
	c := s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || s.next < c.first {
		return Event{}, false, true
	}
	for s.next <= c.sequence || !s.synced {
		if !s.synced && s.next >= s.begin {
			s.synced = true
			return Event{Change: Synced, Position: s.Position}, true, false
		}
		e := c.changes[s.next%kept].Event
		s.next++
		if e.Job != nil && s.filter.passes(e.Job) {
			return e, true, false
		}
	}
	return Event{}, false, false
}

// ring wakes the subscription up.
func (s *Subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// position of the last change. The caller holds the lock.
func (c *Cluster) position() string { return c.process + "-" + strconv.FormatUint(c.sequence, 10) }

// parse returns the sequence of a position of this process.
func (c *Cluster) parse(position string) (uint64, bool) {
	process, sequence, _ := strings.Cut(position, "-")
	n, err := strconv.ParseUint(sequence, 10, 64)
	return n, err == nil && process == c.process
}
