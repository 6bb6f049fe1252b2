package session

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// TestLocalPaths: a login leads to this server alone, whatever the link contains.
func TestLocalPaths(t *testing.T) {
	for asked, want := range map[string]string{
		"":                              "/",
		"/":                             "/",
		"/board/clusters/a/jobs?x=y&z":  "/board/clusters/a/jobs?x=y&z",
		"/a%20b/%2Fc":                   "/a%20b/%2Fc",
		"/a#b":                          "/a",
		"/a?next=https://x.example.com": "/a?next=https://x.example.com",
		"/%C3%A4":                       "/%C3%A4",

		"https://evil.example.com":            "/",
		"//evil.example.com":                  "/",
		"///evil.example.com":                 "/",
		`/\evil.example.com`:                  "/",
		`\\evil.example.com`:                  "/",
		"/%5Cevil.example.com":                "/",
		"/%2Fevil.example.com":                "/",
		"/\t/evil.example.com":                "/",
		"/\n/evil.example.com":                "/",
		"/\x00":                               "/",
		"\t//evil.example.com":                "/",
		" //evil.example.com":                 "/",
		"javascript:alert(1)":                 "/",
		"data:text/html,x":                    "/",
		"board":                               "/",
		"?x":                                  "/",
		"/%zz":                                "/",
		"/login":                              "/",
		"/login?next=/login":                  "/",
		"/logout":                             "/",
		"/login/callback":                     "/",
		"/" + strings.Repeat("a", 1024):       "/",
		"http:/evil.example.com":              "/",
		"https:evil.example.com":              "/",
		"//user@evil.example.com/":            "/",
		"/..//evil.example.com/../\\evil.com": "/",
	} {
		if got := localPath(asked); got != want {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
}

// TestOpenRedirects: the same, through a login, and with a cookie of the login that says something else.
func TestOpenRedirects(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	at := b.toCallback(r, issuer, "//evil.example.com")
	if ended := b.get(at); ended.location != r.server.URL+"/" {
		t.Errorf("it leads to %s", ended.location)
	}
	if page := b.get(r.server.URL + LoginPath + "?next=https://evil.example.com"); page.location != r.server.URL+"/" {
		t.Errorf("who is logged in is sent to %s", page.location)
	}
	other := newBrowser(t)
	at = other.toCallback(r, issuer, "/jobs")
	p, ok := decodePending(other.cookie(r, loginAt(at)))
	if !ok || p.Next != "/jobs" {
		t.Fatalf("the cookie holds %+v", p)
	}
	p.Next = "https://evil.example.com"
	changed, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	other.plant(r, loginAt(at), changed)
	if ended := other.get(at); ended.location != r.server.URL+"/" {
		t.Errorf("it leads to %s", ended.location)
	}
}

// tokenUntil is one that the cluster takes, with an end.
func tokenUntil(end time.Time) string {
	return "e30." + base64Text(fmt.Sprintf(`{"exp":%d}`, end.Unix())) + ".c2ln"
}

// TestTokens of the cluster make sessions that end with them.
func TestTokens(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{
		clock: fake, identity: identity.Default(), config: func(c *Config) { c.URL = "" },
	})
	b := newBrowser(t)
	ended := b.post(r.server.URL+LoginPath, url.Values{
		fieldToken: {"\n " + tokenUntil(fake.Now().Add(time.Hour)) + "\n"}, fieldNext: {"/jobs?a=b"},
	})
	if ended.status != http.StatusSeeOther || ended.location != r.server.URL+"/jobs?a=b" {
		t.Fatalf("logging in: %+v", ended)
	}
	want := `system:serviceaccount:team-a:ci of token_review in ["system:serviceaccounts"] csrf=`
	if page := b.get(r.server.URL + "/"); !strings.HasPrefix(page.body, want) {
		t.Errorf("who is it: %+v", page)
	}
	fake.Step(time.Hour - 2*time.Second)
	if page := b.get(r.server.URL + "/"); page.status != http.StatusOK {
		t.Errorf("before the token ends: %+v", page)
	}
	fake.Step(2 * time.Second)
	if page := b.get(r.server.URL + "/"); page.status != http.StatusSeeOther {
		t.Errorf("after the token's end: %+v", page)
	}
	// A token that lives for years makes no such session.
	b.post(r.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	fake.Step(12*time.Hour - 2*time.Second)
	if page := b.get(r.server.URL + "/"); page.status != http.StatusOK {
		t.Errorf("before board.sessionHours are over: %+v", page)
	}
	fake.Step(2 * time.Second)
	if page := b.get(r.server.URL + "/"); page.status != http.StatusSeeOther {
		t.Errorf("after board.sessionHours: %+v", page)
	}
}

// TestTokensThatFail: the page shows why tokens are rejected, without the tokens.
func TestTokensThatFail(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, identity: identity.Default()})
	for token, says := range map[string]string{
		"wrong-token-of-some-length": "or it has expired",
		"":                           "The text is not a token", "two tokens": "The text is not a token",
		endless:                            "has no expiry",
		tokenUntil(fake.Now()):             "The token has expired",
		strings.Repeat("a", 33<<10):        "The text is not a token",
		`"><script>alert(1)</script>` + "": "or it has expired",
	} {
		b := newBrowser(t)
		page := b.post(r.server.URL+LoginPath, url.Values{fieldToken: {token}, fieldNext: {"/jobs"}})
		if page.status != http.StatusUnauthorized || !strings.Contains(page.body, says) ||
			!strings.Contains(page.body, `name="next" value="/jobs"`) {
			t.Errorf("%.30q: %+v, want %q", token, page, says)
		}
		if token != "" && strings.Contains(page.body, token) || b.cookie(r, cookieSession) != "" {
			t.Errorf("%.30q: it is repeated, or it makes a session: %+v", token, page)
		}
	}
	limited := false
	for n := range 40 {
		page := newBrowser(t).post(r.server.URL+LoginPath, url.Values{fieldToken: {fmt.Sprint("wrong-token-", n)}})
		limited = limited || page.status == http.StatusTooManyRequests && page.header.Get("Retry-After") != ""
	}
	if !limited {
		t.Error("an address that tries many is not stopped")
	}
	issuer := newFakeIssuer(t, fake)
	off := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	page := newBrowser(t).post(off.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	if page.status != http.StatusUnauthorized || !strings.Contains(page.body, "are not accepted") {
		t.Errorf("where no tokens are accepted: %+v", page)
	}
}
func withLink(l OneTimeLink) func(*Config) { return func(c *Config) { c.OneTimeLink = l } }

// offered is the link that a replica writes.
func offered(t *testing.T, r *replica) string {
	t.Helper()
	var out strings.Builder
	if err := r.OfferLink(r.server.URL, &out); err != nil {
		t.Fatal(err)
	}
	says, at, _ := strings.Cut(out.String(), "\n")
	if at = strings.TrimSpace(at); !strings.Contains(says, "log in as demo:alice, open") ||
		!strings.HasPrefix(at, r.server.URL+"/login?once=") {
		t.Fatalf("it prints %q", out.String())
	}
	return at
}

// TestLink logs one browser in, once.
func TestLink(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, plain: true,
		config: withLink(OneTimeLink{User: "demo:alice", Groups: []string{"demo:ml"}})})
	at := offered(t, r)
	for _, wrong := range []string{at + "A", at[:len(at)-1], r.server.URL + LoginPath + "?once="} {
		if page := newBrowser(t).get(wrong); page.status != http.StatusUnauthorized {
			t.Errorf("%s: %+v", wrong, page)
		}
	}
	r.store.fail(true)
	if page := newBrowser(t).get(at); page.status != http.StatusServiceUnavailable {
		t.Errorf("while the database is away: %+v", page)
	}
	r.store.fail(false) // it was of no use yet
	fake.Step(linkLasts - time.Second)
	b := newBrowser(t)
	if page := b.get(at); page.status != http.StatusSeeOther || page.location != r.server.URL+"/" {
		t.Fatalf("the link: %+v", page)
	}
	page := b.get(r.server.URL + "/")
	if !strings.HasPrefix(page.body, `demo:alice of link in ["demo:ml"] csrf=`) {
		t.Errorf("who is it: %+v", page)
	}
	if page := newBrowser(t).get(at); page.status != http.StatusUnauthorized ||
		!strings.Contains(page.body, "The link has expired or was used") {
		t.Errorf("once more: %+v", page)
	}

	at = offered(t, r)
	fake.Step(linkLasts)
	if page := newBrowser(t).get(at); page.status != http.StatusUnauthorized {
		t.Errorf("after ten minutes: %+v", page)
	}

	at = offered(t, r)
	var all sync.WaitGroup
	let := make(chan bool, 8)
	for range cap(let) {
		guest := newBrowser(t)
		all.Go(func() {
			g, err := guest.try(http.MethodGet, at, nil)
			let <- err == nil && g.status == http.StatusSeeOther
		})
	}
	all.Wait()
	close(let)
	n := 0
	for in := range let {
		if in {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d browsers were let in at a time", n)
	}
}

// TestLinksInFiles: only the owner can read the file, and links do not redirect the write.
func TestLinksInFiles(t *testing.T) {
	dir := t.TempDir()
	file, elsewhere := filepath.Join(dir, "link"), filepath.Join(dir, "elsewhere")
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, setting{clock: newClock(), plain: true,
		config: withLink(OneTimeLink{User: "demo:alice", File: file})})
	var out strings.Builder
	if err := r.OfferLink(r.server.URL, &out); err != nil || out.Len() > 0 {
		t.Fatalf("%v, %q", err, out.String())
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("it is written where a link led")
	}
	at, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page := newBrowser(t).get(strings.TrimSpace(string(at))); page.status != http.StatusSeeOther {
		t.Errorf("%s: %+v", at, page)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	r.config.OneTimeLink.File = filepath.Join(dir, "nowhere", "link")
	if err := r.OfferLink(r.server.URL, &out); err == nil || !strings.Contains(err.Error(), "oneTimeLink.file") {
		t.Errorf("into no folder: %v", err)
	}
	none := newReplica(t, setting{clock: newClock(), plain: true})
	if err := none.OfferLink(none.server.URL, &out); err != nil || out.Len() > 0 {
		t.Errorf("without a link: %v, %q", err, out.String())
	}
	page := newBrowser(t).get(none.server.URL + LoginPath + "?once=x")
	if page.status != http.StatusUnauthorized {
		t.Errorf("a link where there is none: %+v", page)
	}
}

// TestUsersHaveBoundedSessions: who logs in again and again loses the session that was unused for longest.
func TestUsersHaveBoundedSessions(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, identity: identity.Default()})
	first := newBrowser(t)
	second := newBrowser(t)
	for _, b := range []*browser{first, second} {
		b.post(r.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
		fake.Step(time.Second)
	}
	fake.Step(usedAfter)
	first.csrf(r) // which is noted
	eventually(t, "its use is noted", func() bool {
		secret, _ := decodeSecret(first.cookie(r, cookieSession))
		found, err := r.store.Session(t.Context(), idOf(secret), fake.Now())
		return err == nil && found.Used.After(found.Made)
	})
	for range sessionsOfOne - 1 {
		newBrowser(t).post(r.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	}
	if page := second.get(r.server.URL + "/"); page.status != http.StatusSeeOther {
		t.Errorf("the one that was unused: %+v", page)
	}
	first.csrf(r)
	n, err := r.store.CountSessions(t.Context(), fake.Now())
	if err != nil || n != sessionsOfOne {
		t.Errorf("%d sessions, %v", n, err)
	}
}

// TestPruning deletes what is over.
func TestPruning(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, identity: identity.Default()})
	newBrowser(t).post(r.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	count := func() int {
		n, err := r.store.CountSessions(t.Context(), time.Unix(0, 0)) // those that are over, too
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	eventually(t, "it is deleted", func() bool {
		fake.Step(time.Hour)
		return count() == 0
	})
}

// TestStreamsEnd with the session: at once where it was ended, and soon on every other replica.
func TestStreamsEnd(t *testing.T) {
	fake := newClock()
	dsn := newDSN(t)
	here := newReplica(t, setting{clock: fake, dsn: dsn, identity: identity.Default()})
	there := newReplica(t, setting{clock: fake, dsn: dsn, identity: identity.Default()})
	b := newBrowser(t)
	b.post(here.server.URL+LoginPath, url.Values{fieldToken: {reviewed}})
	ended := make(chan got, 2)
	for _, r := range []*replica{here, there} {
		cookie := r.cookies.name(cookieSession) + "=" + b.cookie(here, cookieSession)
		listener := newBrowser(t)
		go func() {
			g, err := listener.try(http.MethodGet, r.server.URL+"/stream", nil, "Cookie", cookie)
			if err != nil {
				g.body = err.Error()
			}
			ended <- g
		}()
		<-r.entered
	}
	b.post(here.server.URL+LogoutPath, url.Values{CSRFField: {b.csrf(here)}})
	if g := <-ended; !strings.HasPrefix(g.body, "system:serviceaccount:team-a:ci") {
		t.Errorf("here: %+v", g)
	}
	select {
	case g := <-ended:
		t.Fatalf("there, before the first scrape: %+v", g)
	default:
	}
	eventually(t, "it ends there, too", func() bool {
		fake.Step(watchEvery)
		select {
		case g := <-ended:
			return strings.HasPrefix(g.body, "system:serviceaccount:team-a:ci")
		default:
			return false
		}
	})
	for _, r := range []*replica{here, there} {
		if n := len(r.requests.sessions()); n > 0 {
			t.Errorf("%d sessions have requests still", n)
		}
	}
}

// TestRevokedTokens: the sessions of a token that the cluster rejects end within seconds, with their streams,
// but not while the cluster does not respond.
func TestRevokedTokens(t *testing.T) {
	fake, cluster := newClock(), &reviewer{}
	r := newReplica(t, setting{clock: fake, identity: identity.Default(), reviewer: cluster})
	b := newBrowser(t)
	b.post(r.server.URL+LoginPath, url.Values{fieldToken: {tokenUntil(fake.Now().Add(6 * time.Hour))}})
	ended := make(chan got, 1)
	cookie := r.cookies.name(cookieSession) + "=" + b.cookie(r, cookieSession)
	go func() {
		g, err := newBrowser(t).try(http.MethodGet, r.server.URL+"/stream", nil, "Cookie", cookie)
		if err != nil {
			g.body = err.Error()
		}
		ended <- g
	}()
	<-r.entered
	cluster.away.Store(true)
	fake.Step(time.Minute)
	if page := b.get(r.server.URL+"/", "Accept", "*/*"); page.status != http.StatusServiceUnavailable {
		t.Errorf("while the cluster is away: %+v", page)
	}
	cluster.away.Store(false)
	if page := b.get(r.server.URL+"/", "Accept", "*/*"); page.status != http.StatusOK {
		t.Errorf("when it is back: %+v", page)
	}
	cluster.revoked.Store(true)
	eventually(t, "the stream ends", func() bool {
		fake.Step(watchEvery)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if page := b.get(r.server.URL+"/", "Accept", "*/*"); page.status != http.StatusUnauthorized {
		t.Errorf("once the token is revoked: %+v", page)
	}
	cluster.revoked.Store(false)
	fake.Step(time.Minute)
	again := newBrowser(t).get(r.server.URL+"/", "Accept", "*/*", "Cookie", cookie)
	if again.status != http.StatusUnauthorized {
		t.Errorf("the session is there again: %+v", again)
	}
}

// TestSessionsWithoutToken: a former version of the server did not keep what it would have to verify again.
func TestSessionsWithoutToken(t *testing.T) {
	fake := newClock()
	r := newReplica(t, setting{clock: fake, identity: identity.Default()})
	secret := newSecret()
	who, err := toStored(identity.Verified{Origin: r.identity.Origins()[0], Identity: identity.Identity{
		Name: "system:serviceaccount:team-a:ci", Source: identity.SourceTokenReview, Cluster: "default",
	}}, secret)
	if err != nil {
		t.Fatal(err)
	}
	err = r.store.MakeSession(t.Context(), store.Session{
		ID: idOf(secret), Owner: "ci", Identity: who, Made: fake.Now(), Expires: fake.Now().Add(time.Hour),
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	page := newBrowser(t).get(r.server.URL+"/", "Accept", "*/*", "Cookie",
		r.cookies.name(cookieSession)+"="+encodeSecret(secret))
	if page.status != http.StatusUnauthorized {
		t.Errorf("it is answered: %+v", page)
	}
}

// TestRequests of a session end together, and are forgotten when they have.
func TestRequests(t *testing.T) {
	var q requests
	one, leave := q.begin(t.Context(), &Session{id: store.SessionID{1}})
	two, leaveTwo := q.begin(t.Context(), &Session{id: store.SessionID{1}})
	other, leaveOther := q.begin(t.Context(), &Session{id: store.SessionID{2}})
	leave()
	q.end(store.SessionID{1})
	if one.Err() == nil || two.Err() == nil || other.Err() != nil {
		t.Errorf("%v, %v, %v", one.Err(), two.Err(), other.Err())
	}
	leaveTwo()
	if all := q.sessions(); len(all) != 1 || all[0].id != (store.SessionID{2}) {
		t.Errorf("sessions %v", all)
	}
	leaveOther()
}
