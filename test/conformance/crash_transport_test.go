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

// ErrDead is the result of every request of a killed operator.
var ErrDead = errors.New("the operator is dead")

// CrashTransport connects one run of the operator's process to the API server. It counts writes and kills the
// operator at the chosen one: it calls die, and from then on fails every request, whichever goroutine sends
// it.
//
// Every client of the operator uses it. Events, on which no decision depends, leases and reviews are not
// counted; after the kill they fail like everything else.
type CrashTransport struct {
	crash Crash
	die   func()

	mu     sync.Mutex
	dead   bool
	writes []string
	// counted is the number of writes towards the crash; last is the write that reached it, "" before.
	counted int
	last    string
}

// NewCrashTransport returns a transport; die must not wait for the operator to end.
func NewCrashTransport(crash Crash, die func()) *CrashTransport {
	return &CrashTransport{crash: crash, die: die}
}

// Wrap has the signature that rest.Config.Wrap takes.
func (m *CrashTransport) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) { return m.roundTrip(next, req) })
}

// Kill the operator now.
func (m *CrashTransport) Kill() {
	m.mu.Lock()
	m.dead = true
	m.mu.Unlock()
	m.die()
}

// Dead reports whether the operator was killed at the chosen write.
func (m *CrashTransport) Dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead && m.last != ""
}

// Last returns the write at which the operator was killed; "" before.
func (m *CrashTransport) Last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Writes so far, each as "METHOD path", followed by the phase if it sets a job's phase.
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

// count a write. It reports whether this one is the last, and whether the operator is dead already.
//
// All later writes fail from here on, although the last one may still be in flight: the creates of a gang are
// sent concurrently.
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

// describeWrite gives a write the form that Writes documents.
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
