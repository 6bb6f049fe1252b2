package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// replica is a server that is started: what it guards says who is calling.
type replica struct {
	*Sessions
	t        testing.TB
	clock    *clocktesting.FakeClock
	store    *failingStore
	server   *httptest.Server
	registry *prometheus.Registry

	mu      sync.Mutex
	logged  []string
	changes int           // that were asked for and let pass
	entered chan struct{} // by requests of /stream
}

// setting of a replica.
type setting struct {
	clock *clocktesting.FakeClock
	// dsn of the database; empty for one of its own.
	dsn      string
	identity identity.Config
	config   func(*Config)
	// plain is without TLS.
	plain bool
	// listener of the server; nil: one of its own.
	listener net.Listener
	// reviewer of the cluster's tokens; nil: one of its own.
	reviewer *reviewer
}

func newClock() *clocktesting.FakeClock { return clocktesting.NewFakeClock(time.Now()) }
func newReplica(t testing.TB, o setting) *replica {
	t.Helper()
	if o.dsn == "" {
		o.dsn = newDSN(t)
	}
	if o.reviewer == nil {
		o.reviewer = &reviewer{}
	}
	db, err := store.Open(t.Context(), store.Options{DSN: o.dsn})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{
		t: t, clock: o.clock, store: &failingStore{Store: db}, registry: prometheus.NewRegistry(),
		entered: make(chan struct{}, 10),
	}
	log := logr.New(funcr.New(func(prefix, args string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.logged = append(r.logged, prefix+args)
	}, funcr.Options{Verbosity: 9}).GetSink())
	who, err := identity.New(identity.Options{
		Config: o.identity, Reviews: o.reviewer, ReviewCluster: "default", Clock: o.clock,
		Registry: prometheus.NewRegistry(), Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	var handler http.Handler
	serve := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { handler.ServeHTTP(w, req) })
	r.server = httptest.NewUnstartedServer(serve)
	if o.listener != nil {
		if err := r.server.Listener.Close(); err != nil {
			t.Fatal(err)
		}
		r.server.Listener = o.listener
	}
	if o.plain {
		r.server.Start()
	} else {
		r.server.StartTLS()
	}
	c := Default()
	c.URL = r.server.URL
	if o.config != nil {
		o.config(&c)
	}
	r.Sessions, err = New(Options{
		Config: c, Secure: !o.plain, Store: r.store, Identity: who, Problem: writeProblem, Clock: o.clock,
		Registry: r.registry, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	handler = r.handler()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = who.Start(ctx) })
	running.Go(func() { _ = r.Start(ctx) })
	t.Cleanup(func() {
		r.server.CloseClientConnections()
		r.server.Close()
		cancel()
		running.Wait()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, issuer := range who.LoginIssuers() {
		if !strings.HasPrefix(issuer.URL(), "https://127.0.0.1") {
			continue
		}
		eventually(t, issuer.URL()+" has answered", func() bool {
			_,
				err := issuer.Endpoints()
			return err == nil
		})
	}
	return r
}
func newDSN(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "history.db") }
func writeProblem(w http.ResponseWriter, _ *http.Request, status int, detail, _, remedy string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s: %s", detail, remedy)
}

// handler as cmd/server has it, without shield.
func (r *replica) handler() http.Handler {
	login := http.NewServeMux()
	r.Register(login)
	guarded := r.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		id, _ := identity.FromContext(req.Context())
		if !safe(req.Method) {
			r.mu.Lock()
			r.changes++
			r.mu.Unlock()
		}
		if req.URL.Path == "/stream" {
			r.entered <- struct{}{}
			<-req.Context().Done()
			if !errors.Is(context.Cause(req.Context()), errEnded) {
				fmt.Fprint(w, context.Cause(req.Context()))
				return
			}
		}
		fmt.Fprintf(w, "%s of %s in %q", id.Name, id.Source, id.Groups)
		if s, ok := FromContext(req.Context()); ok {
			fmt.Fprintf(w, " csrf=%s;", s.CSRF())
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if Open(req.URL.Path) {
			login.ServeHTTP(w, req)
			return
		}
		guarded.ServeHTTP(w, req)
	})
}

// reviewed is a token that the cluster knows, of a service account; it ends in the year 2096.
const reviewed = "e30.eyJleHAiOjQwMDAwMDAwMDB9.c2ln"

// endless is one that has no expiry.
const endless = "an-opaque-token-of-a-webhook"

// reviewer accepts the tokens of one service account, until they are revoked or it is away.
type reviewer struct{ revoked, away atomic.Bool }

func (v *reviewer) Create(
	_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions,
) (*authenticationv1.TokenReview, error) {
	if v.away.Load() {
		return nil, errors.New("connection refused")
	}
	if r.Spec.Token == "" {
		return nil, errors.New("token is required for TokenReview in authentication")
	}
	if v.revoked.Load() {
		return r, nil
	}
	if token := r.Spec.Token; token == endless || strings.HasPrefix(token, "e30.") {
		r.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: r.Spec.Audiences,
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:ci", UID: "u",
				Groups: []string{"system:serviceaccounts"}},
		}
	}
	return r, nil
}

// failingStore fails where a test has it do so.
type failingStore struct {
	*store.Store
	mu    sync.Mutex
	fails bool
}

func (f *failingStore) fail(now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = now
}

func (f *failingStore) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails {
		return errors.New("connection refused")
	}
	return nil
}

func (f *failingStore) Session(
	ctx context.Context, id store.SessionID, now time.Time,
) (store.Session, error) {
	if err := f.err(); err != nil {
		return store.Session{}, err
	}
	return f.Store.Session(ctx, id, now)
}
func (f *failingStore) MakeSession(ctx context.Context, s store.Session, keep int) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.MakeSession(ctx, s, keep)
}
func (f *failingStore) EndSession(ctx context.Context, id store.SessionID) error {
	if err := f.err(); err != nil {
		return err
	}
	return f.Store.EndSession(ctx, id)
}

// browser with cookies of its own, that trusts everybody's certificates.
type browser struct {
	t      testing.TB
	client *http.Client
}

func newBrowser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, client: &http.Client{Jar: jar, Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// page is what a browser has got.
type got struct {
	status   int
	header   http.Header
	location string
	body     string
}

// says reports whether the page has words, whatever their case.
func (g got) says(words string) bool {
	return strings.Contains(strings.ToLower(g.body), strings.ToLower(words))
}

// send a request as a browser that goes to a page; more are headers.
func (b *browser) send(method, at string, body io.Reader, more ...string) got {
	b.t.Helper()
	g, err := b.try(method, at, body, more...)
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

// try to send a request, also in a goroutine of its own.
func (b *browser) try(method, at string, body io.Reader, more ...string) (got, error) {
	r, err := http.NewRequest(method, at, body)
	if err != nil {
		return got{}, err
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for n := 0; n < len(more); n += 2 {
		if r.Header.Set(more[n], more[n+1]); more[n+1] == "" {
			r.Header.Del(more[n])
		}
	}
	response, err := b.client.Do(r)
	if err != nil {
		return got{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	g := got{status: response.StatusCode, header: response.Header, body: string(text)}
	if to, none := response.Location(); none == nil {
		g.location = to.String()
	}
	return g, err
}

func (b *browser) get(at string, more ...string) got {
	b.t.Helper()
	return b.send(http.MethodGet, at, nil, more...)
}

func (b *browser) post(at string, form url.Values, more ...string) got {
	b.t.Helper()
	return b.send(http.MethodPost, at, strings.NewReader(form.Encode()), more...)
}

// toCallback begins a login at an issuer and goes as far as the URL of the callback.
func (b *browser) toCallback(r *replica, i *fakeIssuer, next string) string {
	b.t.Helper()
	begun := b.get(r.server.URL + LoginPath + "?" + url.Values{fieldIssuer: {i.url}, fieldNext: {next}}.Encode())
	if begun.status != http.StatusSeeOther || !strings.HasPrefix(begun.location, i.url+"/authorize?") {
		b.t.Fatalf("beginning a login: %+v", begun)
	}
	sent := b.get(begun.location)
	if sent.status != http.StatusFound {
		b.t.Fatalf("at the issuer: %+v", sent)
	}
	return sent.location
}

// loginAt is the cookie of the login that the URL of a callback ends.
func loginAt(callback string) string {
	u, err := url.Parse(callback)
	if err != nil {
		return ""
	}
	return loginCookie(u.Query().Get("state"))
}

// login at an issuer.
func (b *browser) login(r *replica, i *fakeIssuer) {
	b.t.Helper()
	if ended := b.get(b.toCallback(r, i, "")); ended.status != http.StatusSeeOther {
		b.t.Fatalf("ending a login: %+v", ended)
	}
}

// csrf token of the browser's session.
func (b *browser) csrf(r *replica) string {
	b.t.Helper()
	found := regexp.MustCompile(`csrf=([^;]+);`).FindStringSubmatch(b.get(r.server.URL + "/").body)
	if found == nil {
		b.t.Fatal("the browser has no session")
	}
	return found[1]
}

// cookie of the browser at a replica.
func (b *browser) cookie(r *replica, base string) string {
	at, err := url.Parse(r.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == r.cookies.name(base) {
			return c.Value
		}
	}
	return ""
}

// plant a cookie in the browser.
func (b *browser) plant(r *replica, base, value string) {
	at, err := url.Parse(r.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(at, []*http.Cookie{
		{Name: r.cookies.name(base), Value: value, Path: "/", Secure: true},
	})
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// lines of the log.
func (r *replica) logLines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logged)
}

func overwrite(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
