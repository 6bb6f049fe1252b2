package reportserver

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

const (
	// An agent reports every 10 s, and at most once a second when it has news.
	podRate, podBurst, maxPods = rate.Limit(1), 10, 16384
	// podAtOnce: an agent sends one report at a time; the second may come while we still notice that it gave the first up.
	podAtOnce = 2
	// Tokens that are refused, by the address that they come from: each costs the API server a review.
	badRate, badBurst, maxAddresses = rate.Limit(0.5), 20, 4096
)

// limits keeps a rate for each of many keys in bounded memory. The key that was not used for longest is forgotten, and begins
// anew with a full burst.
type limits struct {
	mu      sync.Mutex
	entries *lru.Cache
	rate    rate.Limit
	burst   int
}

func newLimits(r rate.Limit, burst, size int) *limits {
	return &limits{entries: lru.New(size), rate: r, burst: burst}
}

func (l *limits) of(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.entries.Get(key); ok {
		return found.(*rate.Limiter)
	}
	made := rate.NewLimiter(l.rate, l.burst)
	l.entries.Add(key, made)
	return made
}

// spend one of a key's; false: it has none left.
func (l *limits) spend(key string, now time.Time) bool { return l.of(key).AllowN(now, 1) }

// left says whether a key has one left.
func (l *limits) left(key string, now time.Time) bool { return l.of(key).TokensAt(now) >= 1 }

// atOnce counts the requests that each pod has under way. It holds no more entries than there are requests.
type atOnce struct {
	mu   sync.Mutex
	pods map[types.UID]int
}

func (a *atOnce) enter(pod types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods[pod] >= podAtOnce {
		return false
	}
	a.pods[pod]++
	return true
}

func (a *atOnce) leave(pod types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods[pod]--; a.pods[pod] <= 0 {
		delete(a.pods, pod)
	}
}
