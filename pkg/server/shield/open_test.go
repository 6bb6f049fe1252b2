package shield

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// stalledLogins are more than the server handles at the same time.
const stalledLogins = 520

// loginServer reads the body of a login on an open path, and answers known callers on all others. entered
// counts the logins that it has begun to read.
func loginServer(t *testing.T, f *fixture, entered *atomic.Int64) *httptest.Server {
	open := f.Open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered.Add(1)
		if _, err := io.ReadAll(r.Body); err == nil {
			fine(w, r)
		}
	}))
	known := f.PerCaller(http.HandlerFunc(fine))
	server := httptest.NewServer(f.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			open.ServeHTTP(w, r)
			return
		}
		known.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	return server
}

// stall sends the header of a login and no body. It calls answered when the server answers.
func stall(t *testing.T, server *httptest.Server, from string, answered func()) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprint(conn, "POST /login HTTP/1.1\r\nHost: server\r\nContent-Length: 100\r\n\r\n")
	go func() {
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			answered()
		}
	}()
}

// TestStalledLogins: anonymous clients that send no body use no capacity of known callers, and no
// place of the logins of another address.
func TestStalledLogins(t *testing.T) {
	f := newFixtureOn(t, clock.RealClock{}, func(c *Config) { c.AddressRate = maxCount })
	var entered, answered atomic.Int64
	server := loginServer(t, f, &entered)
	for range stalledLogins {
		stall(t, server, "127.0.0.2", func() { answered.Add(1) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(time.Millisecond); entered.Load()+answered.Load() < stalledLogins; {
		select {
		case <-ctx.Done():
			t.Fatalf("%d logins are read and %d answered", entered.Load(), answered.Load())
		case <-tick:
		}
	}
	began := time.Now()
	for _, path := range []string{"/api", "/login"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(headerCaller, "mia")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s is answered with %s", path, response.Status)
		}
	}
	t.Logf("two requests took %s beside %v stalled logins", time.Since(began), f.open.now())
	if n := f.open.now(); n != openRequestsPerAddress {
		t.Errorf("%v stalled logins are held", n)
	}
}

// TestOpenPool: the pool of the open paths has a bound over all addresses.
func TestOpenPool(t *testing.T) {
	f := newFixture(t, nil)
	leave := make(chan struct{})
	entered := make(chan struct{}, openRequests)
	h := f.Handler(f.Open(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})))
	from := func(n int) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", n/200, n%200)
		return r
	}
	done := make(chan struct{}, openRequests)
	for n := range openRequests {
		go func() { send(h, from(n)); done <- struct{}{} }()
	}
	for range openRequests {
		<-entered
	}
	if w := send(h, from(openRequests)); w.Code != http.StatusServiceUnavailable ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("one more is answered with %d, %v", w.Code, w.Header())
	}
	if n := f.requests.now(); n != 0 {
		t.Errorf("%v places of known callers are taken", n)
	}
	close(leave)
	for range openRequests {
		<-done
	}
	if n := f.open.now(); n != 0 {
		t.Errorf("%v places are still taken", n)
	}
}

// TestUnreadBodies: an answer other than success ends a connection of HTTP/1 whose request has a body that
// the handler did not read.
func TestUnreadBodies(t *testing.T) {
	f := newFixture(t, nil)
	for name, tc := range map[string]struct {
		status int
		read   bool
		body   string
		major  int
		want   string
	}{
		"a 401":                {http.StatusUnauthorized, false, "a", 1, "close"},
		"a redirect":           {http.StatusSeeOther, false, "a", 1, "close"},
		"a 401 without a body": {http.StatusUnauthorized, false, "", 1, ""},
		"a 401 of HTTP/2":      {http.StatusUnauthorized, false, "a", 2, ""},
		"a body that is read":  {http.StatusBadRequest, true, "a", 1, ""},
		"success":              {http.StatusOK, false, "a", 1, ""},
	} {
		h := f.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tc.read {
				_, _ = io.ReadAll(r.Body)
			}
			w.WriteHeader(tc.status)
		}))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body))
		r.ProtoMajor = tc.major
		if got := send(h, r).Header().Get("Connection"); got != tc.want {
			t.Errorf("%s: Connection is %q, want %q", name, got, tc.want)
		}
	}
}
