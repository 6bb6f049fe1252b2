package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Moment of a death: before the write reaches the API server, or after it, before its answer is known.
type Moment string

const (
	Before Moment = "before"
	After  Moment = "after"
)

// Crash is where one life of the operator ends: at its Write-th write, counted from its start. Zero: it does not.
type Crash struct {
	Moment Moment
	Write  int
}

func (c Crash) String() string {
	if c.Write == 0 {
		return "never"
	}
	return fmt.Sprintf("%s write %d", c.Moment, c.Write)
}

// ErrDead is what a dead operator's requests meet.
var ErrDead = errors.New("the operator is dead")

// Mortal is the connection of one life of the operator to the API server. It counts writes, and ends the life at the
// chosen one: die is called, and no request passes any more, whoever in the dead process still tries.
//
// It stands below every client, so that nothing goes past it. Not counted are events, which nobody decides upon, leases
// and reviews; when the operator is dead they are refused like everything else.
type Mortal struct {
	crash Crash
	die   func()

	mu     sync.Mutex
	dead   bool
	writes []string
}

// NewMortal connection; die must not wait for the operator's end.
func NewMortal(crash Crash, die func()) *Mortal { return &Mortal{crash: crash, die: die} }

// Wrap a transport: it has the signature that rest.Config.Wrap takes.
func (m *Mortal) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) { return m.roundTrip(next, req) })
}

// Kill ends the life now.
func (m *Mortal) Kill() {
	m.mu.Lock()
	m.dead = true
	m.mu.Unlock()
	m.die()
}

// Dead says whether this life has come to its chosen end.
func (m *Mortal) Dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead && m.crash.Write > 0 && len(m.writes) >= m.crash.Write
}

// Writes so far, each as "METHOD path", and the phase that it sets where it sets a job's.
func (m *Mortal) Writes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (m *Mortal) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	n, dead := m.count(req)
	last := n > 0 && n == m.crash.Write
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

// count is the number of this write in this life, 0 for what is no write; and whether the life is over.
//
// The life ends here for all writes after the last one, although that one may still be on its way: the creates of a gang
// are sent at the same time.
func (m *Mortal) count(req *http.Request) (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return 0, true
	}
	if !counts(req) {
		return 0, false
	}
	m.writes = append(m.writes, describeWrite(req))
	n := len(m.writes)
	if m.crash.Write > 0 && n >= m.crash.Write {
		m.dead = true
		return n, n > m.crash.Write
	}
	return n, false
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

// KindOf a write, as Mortal has it: what differs from run to run of the same steps is left out.
func KindOf(write string) string {
	fields := strings.Fields(write)
	segments := strings.Split(fields[1], "/")
	if i := slices.Index(segments, "namespaces"); i >= 0 && len(segments) > i+2 {
		segments = segments[i+2:]
	}
	if len(segments) > 1 && segments[0] != "trainingjobs" { // names of pods differ by rank, of groups by attempt
		segments = slices.Delete(segments, 1, 2)
	}
	fields[1] = strings.Join(segments, "/")
	return strings.Join(fields, " ")
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

// SomeCrashes are the ends of n lives, one after the other, of an operator that makes so many writes when it is left in
// peace: each dies within the first n-th part of them, so that all get to die. They are the same for the same name at
// every run.
func SomeCrashes(name string, writes, n int) []Crash {
	var seed uint64
	for _, r := range name {
		seed = seed*31 + uint64(r)
	}
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	crashes := make([]Crash, 0, n)
	for range n {
		crashes = append(crashes, Crash{[]Moment{Before, After}[random.IntN(2)], 1 + random.IntN(max(1, writes/n))})
	}
	return crashes
}

// AllCrashes are each of the writes 1..writes, before and after.
func AllCrashes(writes int) []Crash {
	var crashes []Crash
	for n := 1; n <= writes; n++ {
		crashes = append(crashes, Crash{Before, n}, Crash{After, n})
	}
	return crashes
}
