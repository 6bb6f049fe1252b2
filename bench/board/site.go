package board

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/go-logr/logr"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// site is the board over HTTP, at a free local port.
type site struct {
	*httptest.Server
	api *api
	// sent bytes of all answers, without static files.
	sent atomic.Int64
}

// reader is the user of the pages.
var reader = identity.Identity{Name: "reader"}

func newSite(size Size) (*site, error) {
	s := &site{api: &api{cluster: newCluster(size)}}
	b, err := board.New(board.Options{
		Jobs: s.api, Reports: s.api, Changes: s.api, Placement: placed{s.api}, Live: s.api, Log: logr.Discard(),
		UserKeys: []string{userKey}, User: func(*http.Request) board.User { return board.User{Name: reader.Name} },
	})
	if err != nil {
		return nil, err
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !board.Open(r.URL.Path) {
			w = &counted{w, &s.sent}
		}
		b.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), reader)))
	}))
	return s, nil
}

// counted is an answer whose bytes are counted.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counted) Write(of []byte) (int, error) {
	n, err := c.ResponseWriter.Write(of)
	c.sent.Add(int64(n))
	return n, err
}

// Unwrap lets http.ResponseController flush.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// end the streams, and then the server.
func (s *site) end() {
	s.CloseClientConnections()
	s.Close()
}
