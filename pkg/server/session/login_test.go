package session

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// noReviews is an issuer's users alone.
func noReviews(issuers ...identity.Issuer) identity.Config { return identity.Config{OIDC: issuers} }

// TestLogin is the whole way: to the issuer, back to the page that was asked for, and out again, with two
// replicas of which either knows what the other has done.
func TestLogin(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	dsn := newDSN(t)
	config := noReviews(issuer.config("corp:"))
	r := newReplica(t, setting{clock: fake, dsn: dsn, identity: config})
	other := newReplica(t, setting{clock: fake, dsn: dsn, identity: config})
	b := newBrowser(t)

	asked := b.get(r.server.URL + "/board/clusters/a/jobs?phase=Running&sort=-eta")
	want := r.server.URL + LoginPath + "?next=%2Fboard%2Fclusters%2Fa%2Fjobs%3Fphase%3DRunning%26sort%3D-eta"
	if asked.status != http.StatusSeeOther || asked.location != want {
		t.Fatalf("a page without a session: %+v", asked)
	}
	begun := b.get(asked.location) // there is one way alone: it is gone at once
	if begun.status != http.StatusSeeOther || !strings.HasPrefix(begun.location, issuer.url) {
		t.Fatalf("the login: %+v", begun)
	}
	set := begun.header.Get("Set-Cookie")
	const strict = `HttpOnly; Secure; SameSite=Lax$`
	if !regexp.MustCompile(`^__Host-trainingjob-login-[\w-]{8}=[\w-]+; Path=/; Max-Age=600; ` + strict).
		MatchString(set) {
		t.Errorf("the cookie of the login: %s", set)
	}
	back := b.get(begun.location)
	ended := b.get(back.location)
	if ended.status != http.StatusSeeOther ||
		ended.location != r.server.URL+"/board/clusters/a/jobs?phase=Running&sort=-eta" {
		t.Fatalf("the callback: %+v", ended)
	}
	cookies := strings.Join(ended.header.Values("Set-Cookie"), "\n")
	if !regexp.MustCompile(`(?m)^__Host-trainingjob-session=[\w-]{43}; Path=/; Max-Age=43200; `+strict).
		MatchString(cookies) ||
		!strings.Contains(cookies, r.cookies.name(loginAt(back.location))+"=; Path=/; Max-Age=0;") {
		t.Errorf("the cookies of the session:\n%s", cookies)
	}
	for _, replica := range []*replica{r, other} {
		b.plant(replica, cookieSession, b.cookie(r, cookieSession)) // which are one host to a browser
		page := b.get(replica.server.URL + "/")
		if !strings.HasPrefix(page.body, `corp:jane of oidc in ["corp:ml"]`) {
			t.Errorf("who is it: %+v", page)
		}
	}
	if form := issuer.asked[0]; form.Get("code_verifier") == "" || form.Has("client_secret") {
		t.Errorf("the issuer got %v", form)
	}
	if again := b.get(r.server.URL + LoginPath + "?next=/x"); again.location != r.server.URL+"/x" {
		t.Errorf("who is logged in need not log in: %+v", again)
	}

	former, csrf := b.cookie(r, cookieSession), b.csrf(r)
	out := b.post(r.server.URL+LogoutPath, url.Values{CSRFField: {csrf}})
	if out.status != http.StatusSeeOther || out.location != r.server.URL+LoginPath+"?out=1" {
		t.Fatalf("logging out: %+v", out)
	}
	if b.cookie(r, cookieSession) != "" {
		t.Error("the cookie stays in the browser")
	}
	page := b.get(out.location)
	if page.status != http.StatusOK || !strings.Contains(page.body, "You are logged out of this server") {
		t.Errorf("after that: %+v", page)
	}
	for _, replica := range []*replica{r, other} {
		b.plant(replica, cookieSession, former)
		if page := b.get(replica.server.URL+"/", "Accept", "*/*"); page.status != http.StatusUnauthorized {
			t.Errorf("the cookie of a session that was logged out: %+v", page)
		}
	}
}

// TestSessionsEnd when their time is over, however often they are used.
func TestSessionsEnd(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:")),
		config: func(c *Config) { c.SessionHours = 2 }})
	b := newBrowser(t)
	b.login(r, issuer)
	cookie := b.cookie(r, cookieSession)
	for range 3 {
		fake.Step(39 * time.Minute)
		if page := b.get(r.server.URL + "/"); page.status != http.StatusOK {
			t.Fatalf("it is over too early: %+v", page)
		}
	}
	fake.Step(4 * time.Minute)
	page := b.get(r.server.URL + "/jobs")
	if page.location != r.server.URL+LoginPath+"?next=%2Fjobs" || b.cookie(r, cookieSession) != "" {
		t.Errorf("after two hours: %+v", page)
	}
	b.plant(r, cookieSession, cookie)
	page = b.get(r.server.URL+"/jobs", "Accept", "text/event-stream")
	if page.status != http.StatusUnauthorized || !page.says("the session has ended: log in again at /login") {
		t.Errorf("a script after two hours: %+v", page)
	}
}

// TestEveryLoginIsNew: a planted session does not become the user's.
func TestEveryLoginIsNew(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	attacker, b := newBrowser(t), newBrowser(t)
	attacker.login(r, issuer)
	planted, csrf := attacker.cookie(r, cookieSession), attacker.csrf(r)
	b.plant(r, cookieSession, planted)
	b.login2(r, issuer)
	if b.cookie(r, cookieSession) == planted || b.csrf(r) == csrf {
		t.Error("the login goes on with a session that was there before")
	}
	if page := attacker.get(r.server.URL + "/"); page.status == http.StatusOK {
		t.Error("the session that the browser had lives on")
	}
}

// login2 logs in once more.
func (b *browser) login2(r *replica, i *fakeIssuer) {
	b.t.Helper()
	held := b.cookie(r, cookieSession)
	b.plant(r, cookieSession, "") // /login would go on at once
	at := b.toCallback(r, i, "")
	b.plant(r, cookieSession, held)
	if ended := b.get(at); ended.status != http.StatusSeeOther {
		b.t.Fatalf("ending a login: %+v", ended)
	}
}

// TestWhoGoesToLogin: only browsers that navigate to a page.
func TestWhoGoesToLogin(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	for name, tc := range map[string]struct {
		method, accept string
		more           []string
		want           int
	}{
		"a page":                {"GET", "text/html", nil, 303},
		"among others":          {"GET", "application/json;q=0.9, Text/HTML ;q=0.8", nil, 303},
		"by its headers":        {"GET", "text/html", []string{"Sec-Fetch-Mode", "navigate"}, 303},
		"its headers alone":     {"HEAD", "text/html", nil, 303},
		"a script":              {"GET", "text/html", []string{"Sec-Fetch-Mode", "cors"}, 401},
		"anything":              {"GET", "*/*", nil, 401},
		"anything but a page":   {"GET", "application/json, text/html;q=0", nil, 401},
		"events":                {"GET", "text/event-stream", nil, 401},
		"a form":                {"POST", "text/html", nil, 401},
		"a token that is wrong": {"GET", "text/html", []string{"Authorization", "Bearer x"}, 401},
		"a proxy that is none":  {"GET", "text/html", []string{"X-User", "jane"}, 401},
	} {
		page := newBrowser(t).send(tc.method, r.server.URL+"/jobs", nil, append(tc.more, "Accept", tc.accept)...)
		if page.status != tc.want {
			t.Errorf("%s: %+v, want %d", name, page, tc.want)
		}
		if (tc.want == 401) != (page.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: the challenge is %q", name, page.header.Get("WWW-Authenticate"))
		}
	}
}

// TestPagesOfLogin: with several ways there is a choice; what browsers bring stays text; nothing of another
// host is loaded.
func TestPagesOfLogin(t *testing.T) {
	fake := newClock()
	one, two := newFakeIssuer(t, fake), newFakeIssuer(t, fake)
	c := identity.Default()
	c.OIDC = []identity.Issuer{one.config("corp:"), two.config("lab:")}
	r := newReplica(t, setting{clock: fake, identity: c})
	b := newBrowser(t)
	page := b.get(r.server.URL + LoginPath + `?next=/a"><script>alert(1)</script>`)
	for _, want := range []string{
		`href="/login?issuer=` + url.QueryEscape(one.url) + `&amp;next=`,
		`href="/login?issuer=` + url.QueryEscape(two.url) + `&amp;next=`,
		`name="token"`, "--audience trainingjob-server", `value="/a%22%3E%3Cscript%3Ealert%281%29%3C/script%3E"`,
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %s:\n%s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<script") || strings.Contains(page.body, "style=") {
		t.Errorf("the page has a script, or a style:\n%s", page.body)
	}
	if got := page.header.Get("Content-Security-Policy"); got != pagePolicy {
		t.Errorf("the policy is %q", got)
	}
	if style := b.get(r.server.URL + stylePath); style.status != http.StatusOK ||
		!strings.HasPrefix(style.header.Get("Content-Type"), "text/css") {
		t.Errorf("the style: %+v", style)
	}
	for path, want := range map[string]int{
		LoginPath + "?issuer=https://evil.example.com": http.StatusUnauthorized,
		LogoutPath: http.StatusMethodNotAllowed,
	} {
		if page := b.get(r.server.URL + path); page.status != want {
			t.Errorf("%s: %+v", path, page)
		}
	}
	for _, path := range []string{LoginPath + "?once=x", CallbackPath} {
		if page := b.send(http.MethodHead, r.server.URL+path, nil); page.status != http.StatusMethodNotAllowed {
			t.Errorf("HEAD %s: %+v", path, page)
		}
	}

	none := newReplica(t, setting{clock: fake, identity: identity.Config{}})
	if page := b.get(none.server.URL + LoginPath); !strings.Contains(page.body, "No browser can log in here") {
		t.Errorf("where no login is possible: %+v", page)
	}
}

// TestPlainCookies: on plain HTTP of this machine browsers take no other ones.
func TestPlainCookies(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:")), plain: true})
	b := newBrowser(t)
	ended := b.get(b.toCallback(r, issuer, ""))
	set := strings.Join(ended.header.Values("Set-Cookie"), "\n")
	if !regexp.MustCompile(`(?m)^trainingjob-session=[\w-]+; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax$`).
		MatchString(set) {
		t.Errorf("the cookies:\n%s", set)
	}
	// A program on another port can plant a second one, and they cannot be distinguished.
	mine := b.cookie(r, cookieSession)
	page := newBrowser(t).get(r.server.URL+"/", "Accept", "*/*", "Cookie",
		"trainingjob-session="+mine+"; trainingjob-session="+encodeSecret(newSecret()))
	if page.status != http.StatusUnauthorized || !strings.Contains(page.body, "two session cookies") {
		t.Errorf("two sessions: %+v", page)
	}
}

// TestMalformedCookies: malformed cookies have no session, and cause no query of the database.
func TestMalformedCookies(t *testing.T) {
	r := newReplica(t, setting{clock: newClock(), identity: identity.Default()})
	r.store.fail(true)
	long := strings.Repeat("A", 42)
	for _, value := range []string{"", "x", long, long + "AA", long + "B"} {
		page := newBrowser(t).get(r.server.URL+"/", "Accept", "*/*", "Cookie",
			r.cookies.name(cookieSession)+"="+value)
		if page.status != http.StatusUnauthorized {
			t.Errorf("%q: %+v", value, page)
		}
	}
}

func TestStoredIdentities(t *testing.T) {
	v := identity.Verified{Identity: identity.Identity{
		Name: "n", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}},
		Source: identity.SourceTokenReview, Cluster: "c",
	}, Origin: "o", Token: "a-token"}
	secret := newSecret()
	data, err := toStored(v, secret)
	if err != nil || strings.Contains(string(data), v.Token) {
		t.Fatalf("%s, %v", data, err)
	}
	got, err := fromStored(data, secret)
	if diff := cmp.Diff(v, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := fromStored(data, newSecret()); err == nil {
		t.Errorf("another browser reads %+v", got)
	}
	for _, bad := range []string{"", "{}", `{"name":"n"}`, `{"source":"oidc"}`} {
		if _, err := fromStored([]byte(bad), secret); err == nil {
			t.Errorf("%q has a session", bad)
		}
	}
}
