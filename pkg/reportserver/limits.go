package reportserver

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// rateLimits has one rate limit for each of many keys, in bounded memory. It removes the least recently used
// key, which then starts with a full burst.
type rateLimits struct {
	mu      sync.Mutex
	entries *lru.Cache
	rate    rate.Limit
	burst   int
}

func newRateLimits(r rate.Limit, burst, size int) *rateLimits {
	return &rateLimits{entries: lru.New(size), rate: r, burst: burst}
}

func (l *rateLimits) limiter(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.entries.Get(key); ok {
		return found.(*rate.Limiter)
	}
	made := rate.NewLimiter(l.rate, l.burst)
	l.entries.Add(key, made)
	return made
}

// take uses one event of a key. It returns false if there is none.
func (l *rateLimits) take(key string, now time.Time) bool { return l.limiter(key).AllowN(now, 1) }

// inFlight counts the requests in progress of each pod. It has at most one entry per request.
type inFlight struct {
	mu   sync.Mutex
	pods map[types.UID]int
}

func newInFlight() *inFlight { return &inFlight{pods: map[types.UID]int{}} }

// acquire reports whether the pod can have one more request in flight. If so, the caller must release it.
func (f *inFlight) acquire(pod types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods[pod] >= maxInFlightPerPod {
		return false
	}
	f.pods[pod]++
	return true
}

func (f *inFlight) release(pod types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods[pod]--; f.pods[pod] <= 0 {
		delete(f.pods, pod)
	}
}
