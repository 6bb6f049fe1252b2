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
	// Kind, where it is given, is which writes are counted (KindOf). Two runs of the same steps make the same writes in another order, and
	// some more or fewer: this finds the same one in both.
	Kind string
}

func (c Crash) String() string {
	switch {
	case c.Write == 0:
		return "never"
	case c.Kind != "":
		return fmt.Sprintf("%s %s number %d", c.Moment, strings.ReplaceAll(c.Kind, "/", "."), c.Write)
	}
	return fmt.Sprintf("%s write %d", c.Moment, c.Write)
}

// ErrDead is what a dead operator's requests meet.
var ErrDead = errors.New("the operator is dead")

// CrashTransport is the connection of one life of the operator to the API server. It counts writes, and ends the life at the
// chosen one: die is called, and no request passes any more, whoever in the dead process still tries.
//
// It stands below every client, so that nothing goes past it. Not counted are events, which nobody decides upon, leases
// and reviews; when the operator is dead they are refused like everything else.
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
// The life ends here for all writes after the last one, although that one may still be on its way: the creates of a gang
// are sent at the same time.
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

// KindOf a write, as CrashTransport has it: what differs from run to run of the same steps is left out.
func KindOf(write string) string {
	fields := strings.Fields(write)
	segments := strings.Split(fields[1], "/")
	if i := slices.Index(segments, "namespaces"); i >= 0 && len(segments) > i+2 {
		segments = segments[i+2:]
		if len(segments) > 1 && segments[0] != "trainingjobs" { // names of pods differ by rank, of groups by attempt
			segments = slices.Delete(segments, 1, 2)
		}
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
		crashes = append(crashes, Crash{Moment: []Moment{Before, After}[random.IntN(2)], Write: 1 + random.IntN(max(1, writes/n))})
	}
	return crashes
}

// AllCrashes are each of the writes 1..writes, before and after.
func AllCrashes(writes int) []Crash {
	var crashes []Crash
	for n := 1; n <= writes; n++ {
		crashes = append(crashes, Crash{Moment: Before, Write: n}, Crash{Moment: After, Write: n})
	}
	return crashes
}

// EachCrash is each of the given writes, before and after, told by its kind and its number in it.
func EachCrash(writes []string) []Crash {
	var crashes []Crash
	seen := map[string]int{}
	for _, write := range writes {
		kind := KindOf(write)
		seen[kind]++
		crashes = append(crashes, Crash{Before, seen[kind], kind}, Crash{After, seen[kind], kind})
	}
	return crashes
}
