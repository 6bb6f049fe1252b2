package session

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// TestLoginsThatFail: a login ends where, how and when it began, or not at all.
func TestLoginsThatFail(t *testing.T) {
	set := func(at, key, value string) string {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Set(key, value); value == "" {
			q.Del(key)
		}
		u.RawQuery = q.Encode()
		return u.String()
	}
	type login struct {
		*replica
		issuer, other *fakeIssuer
		b             *browser
	}
	for name, tc := range map[string]struct {
		reason string
		// before the browser goes to the issuer, and what becomes of the URL with which it comes back.
		before func(login)
		back   func(l login, at string) string
		status int
		says   string
		// strange: the browser has nothing of the login.
		strange bool
	}{
		"nothing wrong": {reason: "the others fail for what they change", status: http.StatusSeeOther},
		"wrong state": {reason: "another site had the browser go to the callback, with its own code",
			back:   func(_ login, at string) string { return set(at, "state", encodeSecret(newSecret())) },
			status: 401, says: "did not begin in this browser", strange: true},
		"no state": {reason: "the response belongs to no login", back: func(_ login,
			at string) string {
			return set(at, "state", "")
		},
			status: 401, says: "did not begin in this browser", strange: true},
		"a state that begins like this login's": {reason: "the cookie is found by the beginning alone",
			back: func(_ login, at string) string {
				u, err := url.Parse(at)
				if err != nil {
					t.Fatal(err)
				}
				return set(at, "state", u.Query().Get("state")[:8]+encodeSecret(newSecret())[8:])
			}, status: 401, says: "did not begin in this browser"},
		"another browser": {reason: "the victim is to be logged in as the attacker, or the attacker has the code",
			back: func(l login, at string) string {
				l.b.client.Jar = newBrowser(t).client.Jar
				return at
			}, status: 401, says: "did not begin in this browser", strange: true},
		"another browser, in which a login began": {reason: "the response belongs to another login",
			back: func(l login, at string) string {
				l.b.client.Jar = newBrowser(t).client.Jar
				l.b.toCallback(l.replica, l.issuer, "")
				return at
			}, status: 401, says: "did not begin in this browser", strange: true},
		"expired": {reason: "a code and a browser that were left alone", back: func(l login, at string) string {
			l.clock.Step(loginLasts)
			return at
		}, status: 401, says: "more than ten minutes"},
		"almost expired": {reason: "ten minutes are allowed", back: func(l login, at string) string {
			l.clock.Step(loginLasts - 2*time.Second)
			return at
		}, status: http.StatusSeeOther},
		"a cookie of another making": {reason: "nothing is believed of what is not ours",
			back: func(l login, at string) string {
				l.b.plant(l.replica, loginAt(at), "bm9uc2Vuc2U")
				return at
			}, status: 401, says: "cannot be read", strange: true},
		"wrong nonce": {reason: "an ID token that was issued for another login is injected",
			before: func(l login) { l.issuer.claims = map[string]any{"nonce": "another"} },
			status: 401, says: "belongs to another login"},
		"no nonce": {reason: "the ID token belongs to no login",
			before: func(l login) { l.issuer.claims = map[string]any{"nonce": ""} },
			status: 401, says: "belongs to another login"},
		"a token for another client": {reason: "another application at the issuer passes it on",
			before: func(l login) { l.issuer.claims = map[string]any{"aud": "another"} },
			status: 401, says: "not for this server"},
		"a token for the API": {reason: "it was not issued for a login",
			before: func(l login) { l.issuer.claims = map[string]any{"aud": "api"} },
			status: 401, says: "not for this server"},
		"a required claim": {reason: "it holds for logins too",
			before: func(l login) { l.issuer.claims = map[string]any{"tenant": "theirs"} },
			status: 401, says: "claim tenant is not"},
		"a token that is over": {reason: "the ID token has expired",
			before: func(l login) {
				l.issuer.claims = map[string]any{"exp": l.clock.Now().Add(-time.Minute).Unix()}
			},
			status: 401, says: "the token expired"},
		"signed by another issuer": {reason: "it may not name this one's users",
			before: func(l login) { l.issuer.signer = l.other }, status: 401, says: "not signed by the issuer"},
		"issued by another issuer": {reason: "a mix-up: the code went elsewhere than where the login began",
			before: func(l login) {
				l.issuer.signer, l.issuer.claims = l.other, map[string]any{"iss": l.other.url}
			}, status: 401, says: "not signed by the issuer"},
		"an answer of another issuer": {reason: "a mix-up (RFC 9207): the code is not for the token endpoint here",
			back: func(l login, at string) string { return set(at, "iss", l.other.url) }, status: 401,
			says: "from another issuer"},
		"an answer of this issuer": {reason: "it may say so",
			back: func(l login, at string) string { return set(at, "iss", l.issuer.url) }, status: 303},
		"a code of another issuer": {reason: "what the attacker has there is nothing here",
			back: func(l login, at string) string {
				attacker := newBrowser(t).toCallback(l.replica, l.other, "")
				u, err := url.Parse(attacker)
				if err != nil {
					t.Fatal(err)
				}
				return set(at, "code", u.Query().Get("code"))
			}, status: 401, says: "rejected the code"},
		"a code of another login": {reason: "PKCE: it was asked for with another challenge",
			back: func(l login, at string) string {
				u, err := url.Parse(newBrowser(t).toCallback(l.replica, l.issuer, ""))
				if err != nil {
					t.Fatal(err)
				}
				return set(at, "code", u.Query().Get("code"))
			}, status: 401, says: "rejected the code"},
		"no code": {reason: "nothing to redeem",
			back:   func(_ login, at string) string { return set(at, "code", "") },
			status: 401, says: "has sent no code"},
		"the user declines": {reason: "the issuer says so", before: func(l login) {
			l.issuer.answer = url.Values{"error": {"access_denied"}, "error_description": {"<b>no</b>"}}
		}, status: 401, says: "returned: access_denied &lt;b&gt;no&lt;/b&gt;"},
		"the issuer is away": {reason: "the user is unknown", back: func(l login, at string) string {
			l.issuer.change(func() { l.issuer.down = true })
			return at
		}, status: 503, says: "did not return your identity"},
		"the database is away": {reason: "there would be no session", back: func(l login, at string) string {
			l.replica.store.fail(true)
			return at
		}, status: 503, says: "database does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newClock()
			l := login{issuer: newFakeIssuer(t, fake), other: newFakeIssuer(t, fake), b: newBrowser(t)}
			l.replica = newReplica(t, setting{
				clock: fake, identity: noReviews(l.issuer.config("corp:"), l.other.config("lab:")),
			})
			if tc.before != nil {
				l.issuer.change(func() { tc.before(l) })
			}
			at := l.b.toCallback(l.replica, l.issuer, "/jobs")
			if tc.back != nil {
				at = tc.back(l, at)
			}
			ended := l.b.get(at)
			if ended.status != tc.status || !ended.says(tc.says) {
				t.Fatalf("%s: %+v, want %d %q", tc.reason, ended, tc.status, tc.says)
			}
			if has := l.b.cookie(l.replica, cookieSession) != ""; has != (tc.says == "") {
				t.Errorf("%s: the browser has a session: %t", tc.reason, has)
			}
			if leads := strings.Contains(ended.body, "next=%2Fjobs"); leads != (tc.says != "" && !tc.strange) {
				t.Errorf("%s: the next try leads to the page: %t", tc.reason, leads)
			}
			// Whatever came of it, the login is over.
			if again := l.b.get(at); again.status != http.StatusUnauthorized {
				t.Errorf("once more: %+v", again)
			}
			for _, line := range l.replica.logLines() {
				for _, secret := range []string{clientSecret, "code=", "e30."} {
					if strings.Contains(line, secret) {
						t.Errorf("a secret is in the log: %s", line)
					}
				}
			}
		})
	}
}

// TestReplayedCode: not even a browser that has kept the cookie of the login uses a code twice.
func TestReplayedCode(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	at := b.toCallback(r, issuer, "")
	kept := b.cookie(r, loginAt(at))
	if ended := b.get(at); ended.status != http.StatusSeeOther {
		t.Fatalf("the first time: %+v", ended)
	}
	attacker := newBrowser(t)
	attacker.plant(r, loginAt(at), kept)
	if again := attacker.get(at); again.status != http.StatusUnauthorized ||
		!strings.Contains(again.body, "This login was already used") {
		t.Errorf("the second time: %+v", again)
	}
	if len(issuer.asked) != 1 {
		t.Errorf("the issuer is asked %d times for one login", len(issuer.asked))
	}
	at = strings.Replace(attacker.toCallback(r, issuer, ""), "code=", "code=x", 1)
	if ended := attacker.get(at); !ended.says("rejected the code: it has expired or was used") {
		t.Errorf("with another code: %+v", ended)
	}
}

// TestIssuersThatNameThemselves: one that says that it always does, must.
func TestIssuersThatNameThemselves(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	issuer.more = map[string]any{"authorization_response_iss_parameter_supported": true}
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	if ended := b.get(b.toCallback(r, issuer, "")); !ended.says("from another issuer") {
		t.Errorf("without its name: %+v", ended)
	}
	issuer.change(func() { issuer.answer = nil })
	at := b.toCallback(r, issuer, "") + "&iss=" + url.QueryEscape(issuer.url)
	if ended := b.get(at); ended.status != http.StatusSeeOther {
		t.Errorf("with its name: %+v", ended)
	}
}

// TestFailedLoginsOfOthers: behind one ingress all have one address, and one of them fails often.
func TestFailedLoginsOfOthers(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	failing := newBrowser(t)
	for n := range 100 {
		if ended := failing.get(r.server.URL + CallbackPath + "?state=x"); ended.status != http.StatusUnauthorized {
			t.Fatalf("the %dth: %+v", n+1, ended)
		}
	}
	newBrowser(t).login(r, issuer)
}

// TestUndiscovered: an issuer that is unavailable when the server starts is reported, and read later.
func TestUndiscovered(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	issuer.down = true
	c := issuer.config("corp:")
	b := newBrowser(t)
	away := c // the fixture does not wait for it
	away.URL, away.DiscoveryURL = "https://sso.example.com", issuer.url+"/.well-known/openid-configuration"
	r := newReplica(t, setting{clock: fake, identity: noReviews(away)})
	page := b.get(r.server.URL + LoginPath)
	if page.status != http.StatusServiceUnavailable || page.header.Get("Retry-After") == "" ||
		!strings.Contains(page.body, "sso.example.com has not responded to this server yet") {
		t.Fatalf("while it is away: %+v", page)
	}
	issuer.change(func() { issuer.down, issuer.more = false, map[string]any{"issuer": away.URL} })
	eventually(t, "the issuer is asked again", func() bool {
		fake.Step(time.Second)
		return b.get(r.server.URL+LoginPath).status == http.StatusSeeOther
	})
}

// TestMissingSecrets: missing secrets are errors when the server starts, and while it runs.
func TestMissingSecrets(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	c := issuer.config("corp:")
	r := newReplica(t, setting{clock: fake, identity: noReviews(c)})
	for text, says := range map[string]string{
		"": "is empty", "a\nb": "more than one line", strings.Repeat("a", maxSecretBytes+1): "more than one line",
	} {
		overwrite(t, c.Login.ClientSecretFile, text)
		if _, err := readSecret(c.Login.ClientSecretFile); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.9q: %v", text, err)
		}
	}
	page := newBrowser(t).get(r.server.URL + LoginPath)
	if page.status != http.StatusServiceUnavailable || !strings.Contains(page.body, "log has the cause") {
		t.Errorf("a login: %+v", page)
	}
	o := Options{Config: r.config, Identity: r.identity, Clock: fake, Registry: r.registry}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), issuer.url) {
		t.Errorf("at the start: %v", err)
	}
	overwrite(t, c.Login.ClientSecretFile, "another")
	b := newBrowser(t)
	if ended := b.get(b.toCallback(r, issuer, "")); ended.status != http.StatusServiceUnavailable {
		t.Errorf("a secret that the issuer does not know: %+v", ended)
	}
	overwrite(t, c.Login.ClientSecretFile, clientSecret)
	b.login(r, issuer)
	o.Config.URL = ""
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "requires board.url") {
		t.Errorf("without a URL: %v", err)
	}
}

// TestPublicClients have no secret, and say who they are in the form.
func TestPublicClients(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	c := issuer.config("corp:")
	c.Login.ClientSecretFile = ""
	r := newReplica(t, setting{clock: fake, identity: noReviews(c)})
	b := newBrowser(t)
	b.get(b.toCallback(r, issuer, ""))
	if form := issuer.asked[0]; form.Get("client_id") != clientID || form.Has("client_secret") {
		t.Errorf("the issuer got %v", form)
	}
}

// TestConfigurationEndsSessions: a changed configuration of an issuer ends its sessions.
func TestConfigurationEndsSessions(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	dsn := newDSN(t)
	c := issuer.config("corp:")
	r := newReplica(t, setting{clock: fake, dsn: dsn, identity: noReviews(c)})
	b := newBrowser(t)
	b.login(r, issuer)
	same := c
	same.Audiences = []string{"another"}
	strict := c
	strict.RequiredClaims = map[string]string{"tenant": "ours", "role": "admin"}
	for name, tc := range map[string]struct {
		config identity.Config
		want   int
	}{
		"nothing that matters": {noReviews(same), http.StatusOK},
		"a required claim":     {noReviews(strict), http.StatusUnauthorized},
		"no issuer":            {identity.Default(), http.StatusUnauthorized},
	} {
		after := newReplica(t, setting{clock: fake, dsn: dsn, identity: tc.config})
		cookie := after.cookies.name(cookieSession) + "=" + b.cookie(r, cookieSession)
		page := newBrowser(t).get(after.server.URL+"/", "Accept", "*/*", "Cookie", cookie)
		if page.status != tc.want {
			t.Errorf("%s: %+v", name, page)
		}
	}
}
