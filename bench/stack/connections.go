package stack

import "net/http"

// connections bounds the requests that a client has under way, watches left out: a client without a bound
// would measure its own queue.
type connections struct {
	slots chan struct{}
	next  http.RoundTripper
}

func (c connections) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return c.next.RoundTrip(r)
	}
	select {
	case c.slots <- struct{}{}:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	defer func() { <-c.slots }()
	return c.next.RoundTrip(r)
}
