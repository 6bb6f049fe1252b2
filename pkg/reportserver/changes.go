package reportserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// changes tells those who wait for a job that it has changed. It holds an entry only for jobs that somebody waits for.
type changes struct {
	mu      sync.Mutex
	waiting map[types.UID]*round
}

// round ends with the next change of one job.
type round struct {
	over    chan struct{}
	waiters int
}

// join before the job is looked at: a change between the look and the wait is then not missed.
func (c *changes) join(job types.UID) *round {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.waiting[job]
	if r == nil {
		r = &round{over: make(chan struct{})}
		c.waiting[job] = r
	}
	r.waiters++
	return r
}

func (c *changes) leave(job types.UID, r *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.waiters--; r.waiters == 0 && c.waiting[job] == r {
		delete(c.waiting, job)
	}
}

func (c *changes) tell(job types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.waiting[job]; r != nil {
		close(r.over)
		delete(c.waiting, job)
	}
}
