// Package allowance limits how often a caller can fail.
//
// An Allowance is a token bucket. Unlike with rate.Limiter, events can be given back later: callers take an
// event before an operation that can fail, and give it back after a success. So concurrent operations cannot
// fail more often than allowed.
package allowance

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// Allowance of one event for each Interval, up to Burst of them. It is not safe for concurrent use.
type Allowance struct {
	Interval time.Duration
	Burst    int

	// used events at a time.
	used float64
	at   time.Time
}

// Take uses one event. It returns false if there is none.
func (a *Allowance) Take(now time.Time) bool {
	if passed := now.Sub(a.at); passed > 0 {
		a.used = max(0, a.used-passed.Seconds()/a.Interval.Seconds())
		a.at = now
	}
	if a.used+1 > float64(a.Burst) {
		return false
	}
	a.used++
	return true
}

// GiveBack returns an event.
func (a *Allowance) GiveBack() { a.used = max(0, a.used-1) }

// PerKey has one Allowance for each of many keys, such as addresses, in bounded memory. It removes the least
// recently used key, which then starts with a full burst. Its methods are safe for concurrent use.
type PerKey struct {
	mu       sync.Mutex
	entries  *lru.Cache
	interval time.Duration
	burst    int
}

// NewPerKey returns a PerKey of at most size keys.
func NewPerKey(interval time.Duration, burst, size int) *PerKey {
	return &PerKey{entries: lru.New(size), interval: interval, burst: burst}
}

// Take uses one event of a key. It returns false if there is none.
func (p *PerKey) Take(key string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of(key).Take(now)
}

// GiveBack returns an event of a key.
func (p *PerKey) GiveBack(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of(key).GiveBack()
}

func (p *PerKey) of(key string) *Allowance {
	if found, ok := p.entries.Get(key); ok {
		return found.(*Allowance)
	}
	fresh := &Allowance{Interval: p.interval, Burst: p.burst}
	p.entries.Add(key, fresh)
	return fresh
}
