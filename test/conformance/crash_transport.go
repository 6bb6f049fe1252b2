package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// ErrDead is what a dead operator's requests meet.
var ErrDead = errors.New("the operator is dead")

// CrashTransport is the connection of one life of the operator to the API server. It counts writes, and ends
// the life at the chosen one: die is called, and no request passes any more, whoever in the dead process
// still tries.
//
// It stands below every client, so that nothing goes past it. Not counted are events, which nobody decides
// upon, leases and reviews; when the operator is dead they are refused like everything else.
type CrashTransport struct {
	crash Crash
	die   func()

	mu     sync.Mutex
	dead   bool
	writes []string
	// counted towards the crash, and the write that was the last one; "": none yet.
	counted int
	last    string
}

// NewCrashTransport connection; die must not wait for the operator's end.
func NewCrashTransport(crash Crash, die func()) *CrashTransport {
	return &CrashTransport{crash: crash, die: die}
}

// Wrap a transport: it has the signature that rest.Config.Wrap takes.
func (m *CrashTransport) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) { return m.roundTrip(next, req) })
}

// Kill ends the life now.
func (m *CrashTransport) Kill() {
	m.mu.Lock()
	m.dead = true
	m.mu.Unlock()
	m.die()
}

// Dead says whether this life has come to its chosen end.
func (m *CrashTransport) Dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead && m.last != ""
}

// Last write of a life that has come to its chosen end; "" before.
func (m *CrashTransport) Last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Writes so far, each as "METHOD path", and the phase that it sets where it sets a job's.
func (m *CrashTransport) Writes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (m *CrashTransport) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	last, dead := m.count(req)
	switch {
	case dead:
		return nil, refuse(req)
	case !last:
		return next.RoundTrip(req)
	case m.crash.Moment == Before:
		m.Kill()
		return nil, refuse(req)
	}
	resp, err := next.RoundTrip(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	m.Kill()
	return nil, ErrDead
}

// count a write: whether it is the last one of this life, and whether the life is over.
//
// The life ends here for all writes after the last one, although that one may still be on its way: the
// creates of a gang are sent at the same time.
func (m *CrashTransport) count(req *http.Request) (last, dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, true
	}
	if !counts(req) {
		return false, false
	}
	write := describeWrite(req)
	m.writes = append(m.writes, write)
	if m.crash.Kind == "" || m.crash.Kind == KindOf(write) {
		m.counted++
	}
	if m.crash.Write == 0 || m.counted < m.crash.Write {
		return false, false
	}
	m.dead, m.last = true, write
	return true, false
}

// describeWrite is what a write is about.
func describeWrite(req *http.Request) string {
	what := req.Method + " " + req.URL.Path
	if req.Method != http.MethodPatch || req.GetBody == nil {
		return what
	}
	body, err := req.GetBody()
	if err != nil {
		return what
	}
	defer body.Close()
	var patch struct {
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
	if json.NewDecoder(body).Decode(&patch) == nil && patch.Status.Phase != "" {
		what += " " + patch.Status.Phase
	}
	return what
}

func refuse(req *http.Request) error {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return ErrDead
}

func counts(req *http.Request) bool {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	for _, resource := range []string{"/events", "/leases", "reviews"} {
		if strings.Contains(req.URL.Path, resource) {
			return false
		}
	}
	return true
}
