// Package allowance answers one question: has somebody done something too often?
//
// An Allowance is a token bucket. Unlike rate.Limiter's, its events can be given back after time has passed:
// what may turn out to be a mistake is used up before it is known, and given back where it was none, so that
// many at a time cannot make more mistakes than are allowed.
package allowance

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// Allowance of one event for each Interval, up to Burst of them. Its user guards it against concurrent use.
type Allowance struct {
	Interval time.Duration
	Burst    int

	// used events, and when that was so.
	used float64
	at   time.Time
}

// Take uses up one event, and reports whether there was one.
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

// GiveBack an event that Take has used up.
func (a *Allowance) GiveBack() { a.used = max(0, a.used-1) }

// PerKey keeps one Allowance for each of many keys, such as addresses, in bounded memory. It forgets the key
// that was unused for longest, which then starts again with a full burst. Its methods may be called from
// several goroutines.
type PerKey struct {
	mu       sync.Mutex
	entries  *lru.Cache
	interval time.Duration
	burst    int
}

// NewPerKey makes a PerKey of at most size keys.
func NewPerKey(interval time.Duration, burst, size int) *PerKey {
	return &PerKey{entries: lru.New(size), interval: interval, burst: burst}
}

// Take uses up one event of a key, and reports whether there was one.
func (p *PerKey) Take(key string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of(key).Take(now)
}

// GiveBack an event of a key that Take has used up.
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
