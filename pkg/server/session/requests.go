package session

import (
	"context"
	"errors"
	"sync"

	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// errEnded is the cause of a context whose session has ended.
var errEnded = errors.New("the session has ended")

// requests in progress, by session.
type requests struct {
	mu  sync.Mutex
	all map[store.SessionID]map[*context.CancelCauseFunc]struct{}
}

// begin adds a request of a session. Its context ends with the session, or with leave.
func (q *requests) begin(ctx context.Context, id store.SessionID) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[store.SessionID]map[*context.CancelCauseFunc]struct{}{}
	}
	if q.all[id] == nil {
		q.all[id] = map[*context.CancelCauseFunc]struct{}{}
	}
	q.all[id][&cancel] = struct{}{}
	return ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		cancel(nil)
		if delete(q.all[id], &cancel); len(q.all[id]) == 0 {
			delete(q.all, id)
		}
	}
}

// end ends the requests of a session.
func (q *requests) end(id store.SessionID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for cancel := range q.all[id] {
		(*cancel)(errEnded)
	}
}

// sessions returns the sessions with requests.
func (q *requests) sessions() []store.SessionID {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]store.SessionID, 0, len(q.all))
	for id := range q.all {
		all = append(all, id)
	}
	return all
}
