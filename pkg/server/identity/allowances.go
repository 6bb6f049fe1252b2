package identity

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// allowance is a token bucket. Unlike rate.Limiter's, its events can be given back after time has passed.
type allowance struct {
	used float64
	at   time.Time
}

// allowances keeps one allowance for each of many addresses, in bounded memory. It forgets the address that
// was unused for longest, which then starts again with a full burst.
type allowances struct {
	mu       sync.Mutex
	entries  *lru.Cache
	interval time.Duration
	burst    int
}

func newAllowances(interval time.Duration, burst, size int) *allowances {
	return &allowances{entries: lru.New(size), interval: interval, burst: burst}
}

// take uses up one event of an address, and reports whether there was one.
func (l *allowances) take(address string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(address)
	if passed := now.Sub(a.at); passed > 0 {
		a.used = max(0, a.used-passed.Seconds()/l.interval.Seconds())
		a.at = now
	}
	if a.used+1 > float64(l.burst) {
		return false
	}
	a.used++
	return true
}

// giveBack an event that take has used up.
func (l *allowances) giveBack(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(address)
	a.used = max(0, a.used-1)
}

func (l *allowances) of(address string) *allowance {
	if found, ok := l.entries.Get(address); ok {
		return found.(*allowance)
	}
	fresh := &allowance{}
	l.entries.Add(address, fresh)
	return fresh
}
