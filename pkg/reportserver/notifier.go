package reportserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// notifier notifies subscribers of changes of a job. It has entries only for jobs with subscribers.
type notifier struct {
	mu            sync.Mutex
	subscriptions map[types.UID]*subscription
}

// subscription to the next change of one job. All subscribers of the job share it.
type subscription struct {
	// changed is closed at the job's next change.
	changed     chan struct{}
	subscribers int
}

func newNotifier() *notifier { return &notifier{subscriptions: map[types.UID]*subscription{}} }

// subscribe before the job is read, so that no change between the read and the wait is missed.
func (n *notifier) subscribe(job types.UID) *subscription {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.subscriptions[job]
	if s == nil {
		s = &subscription{changed: make(chan struct{})}
		n.subscriptions[job] = s
	}
	s.subscribers++
	return s
}

func (n *notifier) unsubscribe(job types.UID, s *subscription) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.subscribers--; s.subscribers == 0 && n.subscriptions[job] == s {
		delete(n.subscriptions, job)
	}
}

// notify ends the job's subscription.
func (n *notifier) notify(job types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.subscriptions[job]; s != nil {
		close(s.changed)
		delete(n.subscriptions, job)
	}
}
