package shield

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// maxRates is the number of addresses and of callers that are kept.
const maxRates = 10_000

// rates has one rate limit for each of many keys, in bounded memory. It removes the least recently used key,
// which then starts with a full burst.
type rates struct {
	mu        sync.Mutex
	entries   *lru.Cache
	perSecond int
}

func newRates(perSecond int) *rates { return &rates{entries: lru.New(maxRates), perSecond: perSecond} }

// take uses one event of a key. It returns false if there is none.
func (l *rates) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.entries.Get(key); ok {
		return found.(*rate.Limiter).AllowN(now, 1)
	}
	made := rate.NewLimiter(rate.Limit(l.perSecond), burstOfSecond*l.perSecond)
	l.entries.Add(key, made)
	return made.AllowN(now, 1)
}

// counts are numbers of concurrent things, in all and by key. Only keys with a count above 0 have an entry.
type counts struct {
	most, mostOfKey int

	mu    sync.Mutex
	all   int
	ofKey map[string]int
}

func newCounts(most, mostOfKey int) *counts {
	return &counts{most: most, mostOfKey: mostOfKey, ofKey: map[string]int{}}
}

// enter adds one for the key if the limits allow it. The caller must then call leave.
func (c *counts) enter(key string) (together, ofKey bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	together, ofKey = c.all < c.most, c.ofKey[key] < c.mostOfKey
	if together && ofKey {
		c.all++
		c.ofKey[key]++
	}
	return together, ofKey
}

func (c *counts) leave(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.ofKey[key]--; c.ofKey[key] <= 0 {
		delete(c.ofKey, key)
	}
}

func (c *counts) now() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.all)
}
