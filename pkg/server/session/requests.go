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
	all map[store.SessionID]map[*context.CancelCauseFunc]*Session
}

// begin adds a request of a session. Its context ends with the session, or with leave.
func (q *requests) begin(ctx context.Context, s *Session) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	id := s.id
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.all == nil {
		q.all = map[store.SessionID]map[*context.CancelCauseFunc]*Session{}
	}
	if q.all[id] == nil {
		q.all[id] = map[*context.CancelCauseFunc]*Session{}
	}
	q.all[id][&cancel] = s
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

// sessions returns the sessions with requests, each once.
func (q *requests) sessions() []*Session {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make([]*Session, 0, len(q.all))
	for _, requests := range q.all {
		for _, s := range requests {
			all = append(all, s)
			break
		}
	}
	return all
}
