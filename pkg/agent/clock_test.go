package agent

import (
	"io"
	"log"
	"sync"
	"time"
)

// fakeClock stands still until it jumps. Its waits never end.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
	fire  []chan time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waits, c.fire = append(c.waits, d), append(c.fire, ch)
	return ch
}

// tickingClock is a fake clock on which every wait is over at once.
type tickingClock struct{ *fakeClock }

func (c tickingClock) After(d time.Duration) <-chan time.Time {
	c.jump(c.Now().Add(d))
	ch := make(chan time.Time, 1)
	ch <- c.Now()
	return ch
}

func (c *fakeClock) jump(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
