package shield

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// headerCaller says in tests who is calling.
const headerCaller = "Caller"

type fixture struct {
	*Shield
	t        testing.TB
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	logged   chan string
}

func newFixture(t testing.TB, change func(*Config)) *fixture {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Now())
	f := newFixtureOn(t, fake, change)
	f.clock = fake
	return f
}
func newFixtureOn(t testing.TB, c clock.WithDelayedExecution, change func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, registry: prometheus.NewRegistry(), logged: make(chan string, 10)}
	config := Default()
	if change != nil {
		change(&config)
	}
	log := funcr.New(func(_, args string) { f.logged <- args }, funcr.Options{})
	var err error
	f.Shield, err = New(Options{
		Config: config, Clock: c, Registry: f.registry, Log: logr.New(log.GetSink()),
		Problem: func(w http.ResponseWriter, _ *http.Request, status int, detail, _, remedy string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s: %s", detail, remedy)
		},
		Address: func(r *http.Request) string { host, _, _ := net.SplitHostPort(r.RemoteAddr); return host },
		Caller:  func(r *http.Request) string { return r.Header.Get(headerCaller) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// around a handler, with both layers.
func (f *fixture) around(h http.HandlerFunc) http.Handler { return f.Handler(f.PerCaller(h)) }

func fine(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
func get(path string) *http.Request { return httptest.NewRequest(http.MethodGet, path, nil) }
func TestRequestsThatAreNotHandled(t *testing.T) {
	with := func(method string, headers ...string) *http.Request {
		r := httptest.NewRequest(method, "http://server.example.com/", strings.NewReader("{}"))
		for n := 0; n < len(headers); n += 2 {
			r.Header.Add(headers[n], headers[n+1])
		}
		return r
	}
	large := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("a", 3<<20)))
	for name, tc := range map[string]struct {
		request *http.Request
		code    int
		says    string
	}{
		"a program":         {with("POST"), 200, "fine"},
		"a page of ours":    {with("POST", "Sec-Fetch-Site", "same-origin"), 200, "fine"},
		"a page that reads": {with("GET", "Sec-Fetch-Site", "cross-site"), 200, "fine"},
		"a trusted site": {with("DELETE", "Sec-Fetch-Site", "cross-site", "Origin", "https://portal.example.com"),
			200, "fine"},
		"another site": {with("DELETE", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example.com"), 403,
			"a page of another site requests a change"},
		"a sister site": {with("POST", "Sec-Fetch-Site", "same-site"), 403, "a page of another site"},
		"an old browser": {with("PATCH", "Origin", "https://evil.example.com"), 403,
			"a page of another site"},
		"no origin at all": {with("POST", "Origin", "null"), 403, "a page of another site"},
		"a long URL":       {get("/?" + strings.Repeat("a", 9000)), 414, "more than 8192 bytes"},
		"long headers":     {with("GET", "A", strings.Repeat("a", 70_000)), 431, "more than 65536 bytes"},
		"a large body":     {large, 413, "more than 2097152 bytes"},
	} {
		f := newFixture(t, func(c *Config) { c.TrustedOrigins = []string{"https://portal.example.com"} })
		w := send(f.around(fine), tc.request)
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s: %d %s, want %d %s", name, w.Code, w.Body, tc.code, tc.says)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the headers are not strict", name)
		}
	}
}

// TestBodyWithoutLength ends at the limit.
func TestBodyWithoutLength(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.BodyBytes = 1024 })
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(strings.Repeat("a", 2000))))
	r.ContentLength = -1
	var read int
	send(f.around(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if tooLarge := (*http.MaxBytesError)(nil); !errors.As(err, &tooLarge) {
			t.Errorf("got %v", err)
		}
		read = len(data)
	}), r)
	if read != 1024 {
		t.Errorf("the handler read %d bytes", read)
	}
}

func TestStrictHeaders(t *testing.T) {
	f := newFixture(t, nil)
	server := httptest.NewTLSServer(f.around(fine))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	want := http.Header{
		"Cache-Control": {"no-store"}, "Content-Security-Policy": {contentPolicy},
		"Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Resource-Policy": {"same-origin"},
		"Referrer-Policy": {"no-referrer"}, "X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"DENY"},
		"Strict-Transport-Security": {"max-age=31536000"},
	}
	got := response.Header.Clone()
	for _, key := range []string{"Date", "Content-Length", "Content-Type"} {
		got.Del(key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w := send(f.around(fine), get("/")); w.Header().Get("Strict-Transport-Security") != "" {
		t.Error("plain HTTP has the header of TLS")
	}
}

func TestPanics(t *testing.T) {
	f := newFixture(t, nil)
	w := send(f.around(func(http.ResponseWriter, *http.Request) { panic("secret") }), get("/"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if line := <-f.logged; !strings.Contains(line, "secret") || !strings.Contains(line, "shield_test.go") {
		t.Errorf("the log has %s", line)
	}
	if f.requests.now() != 0 || f.perCaller.now() != 0 {
		t.Error("its request still counts")
	}
	server := httptest.NewServer(f.around(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half of it")
		panic("later")
	}))
	defer server.Close()
	if response, err := server.Client().Get(server.URL); err == nil {
		if _, err := io.ReadAll(response.Body); err == nil {
			t.Error("an answer that was cut off seems whole")
		}
		response.Body.Close()
	}
}

func TestRates(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.AddressRate, c.CallerRate = 5, 2 })
	h := f.around(fine)
	from := func(address, caller string) *http.Request {
		r := get("/")
		r.RemoteAddr = address + ":1"
		r.Header.Set(headerCaller, caller)
		return r
	}
	codes := func(n int, address, caller string) map[int]int {
		all := map[int]int{}
		for range n {
			all[send(h, from(address, caller)).Code]++
		}
		return all
	}
	if diff := cmp.Diff(map[int]int{200: 8, 429: 2}, codes(10, "192.0.2.1", "jane")); diff != "" {
		t.Errorf("one caller:\n%s", diff)
	}
	if diff := cmp.Diff(map[int]int{200: 8, 429: 4}, codes(12, "192.0.2.1", "joe")); diff != "" {
		t.Errorf("another caller of the address, until that has no more:\n%s", diff)
	}
	if diff := cmp.Diff(map[int]int{200: 1}, codes(1, "192.0.2.2", "ann")); diff != "" {
		t.Errorf("another caller:\n%s", diff)
	}
	f.clock.Step(time.Second)
	if diff := cmp.Diff(map[int]int{200: 2, 429: 1}, codes(3, "192.0.2.1", "jane")); diff != "" {
		t.Errorf("a second later:\n%s", diff)
	}
	if w := send(h, from("192.0.2.1", "jane")); w.Header().Get("Retry-After") != "1" {
		t.Errorf("try again after %q seconds", w.Header().Get("Retry-After"))
	}
}

// TestRequestsAtATime of one caller, and of all.
func TestRequestsAtATime(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Requests, c.RequestsPerCaller = 3, 2 })
	entered, leave := make(chan struct{}), make(chan struct{})
	h := f.around(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})
	as := func(caller string) *http.Request {
		r := get("/")
		r.Header.Set(headerCaller, caller)
		return r
	}
	ended := make(chan struct{})
	start := func(caller string) {
		go func() { send(h, as(caller)); ended <- struct{}{} }()
		<-entered
	}
	start("jane")
	start("jane")
	if w := send(h, as("jane")); w.Code != 429 || !strings.Contains(w.Body.String(), "2 of your requests") {
		t.Errorf("a third one of jane's: %d %s", w.Code, w.Body)
	}
	start("joe")
	if w := send(h, as("ann")); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a fourth one: %d %s", w.Code, w.Body)
	}
	close(leave)
	for range 3 {
		<-ended
	}
	if f.requests.now() != 0 || f.perCaller.now() != 0 || len(f.perCaller.ofKey) > 0 {
		t.Error("requests that have ended still count")
	}
}

// TestTimeLimit ends the context of a handler, and answers where it has not.
func TestTimeLimit(t *testing.T) {
	f := newFixture(t, nil)
	w := send(f.around(func(_ http.ResponseWriter, r *http.Request) {
		f.clock.Step(31 * time.Second)
		<-r.Context().Done()
	}), get("/"))
	if w.Code != http.StatusGatewayTimeout || !strings.Contains(w.Body.String(), "more than 30 seconds") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	w = send(f.around(func(w http.ResponseWriter, r *http.Request) {
		f.clock.Step(31 * time.Second)
		<-r.Context().Done()
		http.Error(w, "own words", http.StatusServiceUnavailable)
	}), get("/"))
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "30 seconds") {
		t.Errorf("the handler's own answer: %d %s", w.Code, w.Body)
	}
}

// TestStream has the time of streams, counts among these, and ends after all.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOn(t, clock.RealClock{}, func(c *Config) { c.StreamsPerCaller = 1 })
		var ended atomic.Int32
		h := f.around(func(w http.ResponseWriter, r *http.Request) {
			if err := Stream(r.Context()); err != nil {
				own := (*Error)(nil)
				if errors.As(err, &own) {
					w.WriteHeader(own.Status)
				}
				return
			}
			<-r.Context().Done()
			ended.Add(1)
		})
		go send(h, get("/"))
		synctest.Wait()
		if f.requests.now() != 0 || f.perCaller.now() != 0 || f.streams.now() != 1 {
			t.Errorf("%v requests, %v streams", f.requests.now(), f.streams.now())
		}
		if w := send(h, get("/")); w.Code != http.StatusTooManyRequests {
			t.Errorf("a second stream: %d", w.Code)
		}
		time.Sleep(time.Minute) // in the bubble
		synctest.Wait()
		if ended.Load() != 0 {
			t.Error("it ended with the time of a request")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if ended.Load() != 1 || f.streams.now() != 0 {
			t.Errorf("%d have ended, %v streams", ended.Load(), f.streams.now())
		}
	})
	if err := Stream(context.Background()); err != nil {
		t.Errorf("without a shield: %v", err)
	}
}

// TestSlowClients on real connections: who sends its body slowly is cut off, and a stream is not, though it
// takes longer.
func TestSlowClients(t *testing.T) {
	f := newFixtureOn(t, clock.RealClock{}, func(c *Config) { c.RequestSeconds = 1 })
	read, released := make(chan error, 1), make(chan struct{})
	server := httptest.NewServer(f.around(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, err := io.ReadAll(r.Body)
			read <- err
			return
		}
		if err := Stream(r.Context()); err != nil {
			t.Error(err)
		}
		fmt.Fprintln(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-released
		if r.Context().Err() != nil {
			t.Errorf("the stream ended: %v", context.Cause(r.Context()))
		}
		fmt.Fprintln(w, "second")
	}))
	defer server.Close()
	stream, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
	if err := <-read; err == nil {
		t.Error("a body that never came was read")
	}
	close(released) // more than a request's time has passed
	if all, err := io.ReadAll(stream.Body); err != nil || string(all) != "first\nsecond\n" {
		t.Errorf("the stream: %q, %v", all, err)
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"the default": {func(*Config) {}, ""},
		"no bytes":    {func(c *Config) { c.BodyBytes = 0 }, "limits.bodyBytes: Invalid value: 0: must be"},
		"no requests": {func(c *Config) { c.Requests = 0 }, "limits.requests"},
		"endless":     {func(c *Config) { c.StreamSeconds = 1 << 30 }, "limits.streamSeconds"},
		"a path": {func(c *Config) { c.TrustedOrigins = []string{"https://a.b/c"} },
			"trustedOrigins[0]"},
		"twice": {func(c *Config) { c.TrustedOrigins = []string{"https://a.b", "https://a.b"} },
			"Duplicate"},
	} {
		c := Default()
		tc.change(&c)
		errs := c.Validate(field.NewPath("limits"))
		if (len(errs) > 0) != (tc.want != "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, errs, tc.want)
		}
	}
}

func TestMetricsAreClean(t *testing.T) {
	f := newFixture(t, nil)
	f.metrics.rejected.WithLabelValues(reasonSize).Inc()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 || len(families) != len(MetricDescriptions()) {
		t.Errorf("%d families: %v, %v", len(families), problems, err)
	}
}
