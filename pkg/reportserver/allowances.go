package reportserver

import (
	"sync"
	"time"

	"k8s.io/utils/lru"
)

// allowance is a token bucket. Unlike rate.Limiter's, its events can be given back after time has passed.
type allowance struct {
	// interval in which one event comes back, up to burst of them.
	interval time.Duration
	burst    int

	// used events, and when that was so.
	used float64
	at   time.Time
}

// take uses up one event, and reports whether there was one. The caller guards against concurrent use.
func (a *allowance) take(now time.Time) bool {
	if passed := now.Sub(a.at); passed > 0 {
		a.used = max(0, a.used-passed.Seconds()/a.interval.Seconds())
		a.at = now
	}
	if a.used+1 > float64(a.burst) {
		return false
	}
	a.used++
	return true
}

func (a *allowance) giveBack() { a.used = max(0, a.used-1) }

// allowances keeps one allowance for each of many keys, in bounded memory. It forgets the key that was unused
// for longest, which then starts again with a full burst.
type allowances struct {
	mu       sync.Mutex
	entries  *lru.Cache
	interval time.Duration
	burst    int
}

func newAllowances(interval time.Duration, burst, size int) *allowances {
	return &allowances{entries: lru.New(size), interval: interval, burst: burst}
}

func (l *allowances) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(key).take(now)
}

func (l *allowances) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(key).giveBack()
}

func (l *allowances) of(key string) *allowance {
	if found, ok := l.entries.Get(key); ok {
		return found.(*allowance)
	}
	fresh := &allowance{interval: l.interval, burst: l.burst}
	l.entries.Add(key, fresh)
	return fresh
}
