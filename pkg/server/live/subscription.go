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
)

// Event is one change of a job.
type Event struct {
	Change Change
	// Job after the change; for a deletion its last known state. Shared: read only.
	Job *v1alpha1.TrainingJob
	// Position after the change.
	Position string

	encoded *encoding
}

type encoding struct {
	once sync.Once
	data []byte
	err  error
}

// Encoded returns the job as encode encodes it. All subscribers share the result, so all must pass the same
// function.
func (e Event) Encoded(encode func(*v1alpha1.TrainingJob) ([]byte, error)) ([]byte, error) {
	e.encoded.once.Do(func() { e.encoded.data, e.encoded.err = encode(e.Job) })
	return e.encoded.data, e.encoded.err
}

// Filter of jobs. Empty fields match all.
type Filter struct {
	Namespace, Name string
}

func (f Filter) passes(job *v1alpha1.TrainingJob) bool {
	return (f.Namespace == "" || f.Namespace == job.Namespace) && (f.Name == "" || f.Name == job.Name)
}

// Subscription is the changes of jobs from a moment on.
type Subscription struct {
	// Reset reports whether the subscription starts over, with the matching Jobs at Position. Otherwise it
	// begins with Missed: the changes since the requested position.
	Reset    bool
	Jobs     []*v1alpha1.TrainingJob
	Missed   []Event
	Position string

	cluster *Cluster
	filter  Filter
	events  chan Event
}

// Events after the beginning of the subscription. The channel is closed when the subscriber lags too far
// behind, and when the process ends.
func (s *Subscription) Events() <-chan Event { return s.events }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.cluster.drop(s)
}

func (c *Cluster) subscribe(filter Filter, after string) (*Subscription, error) {
	if !c.synced.Load() {
		return nil, ErrNotSynced
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Subscription{cluster: c, filter: filter, events: make(chan Event, queued), Position: c.position()}
	missed, ok := c.since(after, filter)
	if s.Missed = missed; !ok {
		s.Reset = true
		s.Jobs = slices.DeleteFunc(slices.Clone(c.jobs), func(job *v1alpha1.TrainingJob) bool {
			return !filter.passes(job)
		})
	}
	if c.closed {
		close(s.events)
		return s, nil
	}
	c.subscribers[s] = struct{}{}
	return s, nil
}

// position of the last change. The caller holds the lock.
func (c *Cluster) position() string { return c.process + "-" + strconv.FormatUint(c.sequence, 10) }

// parse returns the sequence of a position of this process.
func (c *Cluster) parse(position string) (uint64, bool) {
	process, sequence, _ := strings.Cut(position, "-")
	n, err := strconv.ParseUint(sequence, 10, 64)
	return n, err == nil && process == c.process
}
