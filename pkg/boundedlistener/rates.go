package boundedlistener

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// rates has one rate limit per address, for the most recent addresses. Only Accept uses it.
type rates struct {
	addresses *lru.Cache
	limit     rate.Limit
	burst     int
}

func newRates(limit rate.Limit, burst, addresses int) *rates {
	return &rates{addresses: lru.New(addresses), limit: limit, burst: burst}
}

func (r *rates) take(address string, now time.Time) bool {
	if found, ok := r.addresses.Get(address); ok {
		return found.(*rate.Limiter).AllowN(now, 1)
	}
	fresh := rate.NewLimiter(r.limit, r.burst)
	r.addresses.Add(address, fresh)
	return fresh.AllowN(now, 1)
}
