//go:build cluster

package session

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/oidcprovider"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// certified is a certified OpenID provider, and a server whose users log in there.
type certified struct {
	*oidcprovider.Provider
	*replica
	t *testing.T
}

func startCertified(t *testing.T, algorithm string) *certified {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	provider, err := oidcprovider.Start(t.Context(), oidcprovider.Options{
		Dir: dir, Audience: "api", Algorithm: algorithm,
		Users: []oidcprovider.User{{Name: "jane", Groups: []string{"ml", "admins"}}, {Name: "joe"}},
		Login: &oidcprovider.Client{ID: clientID, RedirectURI: "https://" + listener.Addr().String() + CallbackPath},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	secret := filepath.Join(dir, "secret")
	overwrite(t, secret, provider.Secret()+"\n")
	return &certified{Provider: provider, t: t, replica: newReplica(t, setting{
		clock: newClock(), listener: listener, identity: noReviews(identity.Issuer{
			URL: provider.Issuer, CAFile: provider.CAFile, Audiences: []string{"api"}, Prefix: "corp:",
			Login: identity.Login{ClientID: clientID, ClientSecretFile: secret, Scopes: []string{"groups"}},
		}),
	})}
}

// follow redirects of the provider as far as a page of it, or the URL of our callback.
func (c *certified) follow(b *browser, g got) (page got, at string) {
	c.t.Helper()
	for range 20 {
		if g.location == "" {
			c.t.Fatalf("it leads nowhere: %+v", g)
		}
		if strings.HasPrefix(g.location, c.server.URL+CallbackPath) {
			return got{}, g.location
		}
		at = g.location
		if g = b.get(at); g.status == http.StatusOK {
			return g, at
		}
	}
	c.t.Fatalf("it leads on and on: %+v", g)
	return got{}, ""
}

// signIn at the provider as a user, as far as our callback.
func (c *certified) signIn(b *browser, user, next string) string {
	c.t.Helper()
	page, at := c.follow(b, b.get(c.server.URL+loginFor(next)))
	for step := 0; page.status != 0; step++ {
		form := url.Values{"prompt": {"login"}, "login": {user}, "password": {"any"}}
		if !strings.Contains(page.body, `name="login"`) {
			form = url.Values{"prompt": {"consent"}}
		}
		if step > 2 {
			c.t.Fatalf("the provider asks again and again: %+v", page)
		}
		page, at = c.follow(b, b.post(at, form))
	}
	return at
}

// TestCertifiedProvider: users of a certified OpenID provider log in, with either algorithm and with new
// keys.
func TestCertifiedProvider(t *testing.T) {
	for _, algorithm := range []string{"ES256", "RS256"} {
		t.Run(algorithm, func(t *testing.T) {
			c := startCertified(t, algorithm)
			b := newBrowser(t)
			at := c.signIn(b, "jane", "/board/?a=b")
			kept := b.cookie(c.replica, loginAt(at))
			if ended := b.get(at); ended.status != http.StatusSeeOther ||
				ended.location != c.server.URL+"/board/?a=b" {
				t.Fatalf("the callback: %+v", ended)
			}
			want := `corp:jane of oidc in ["corp:admins" "corp:ml"] csrf=`
			if page := b.get(c.server.URL + "/"); !strings.HasPrefix(page.body, want) {
				t.Errorf("who is it: %+v", page)
			}
			other := newBrowser(t)
			other.plant(c.replica, loginAt(at), kept)
			if again := other.get(at); again.status != http.StatusUnauthorized || !again.says("was already used") {
				t.Errorf("the code once more: %+v", again)
			}
			if out := b.post(c.server.URL+LogoutPath, url.Values{CSRFField: {b.csrf(c.replica)}}); out.status !=
				http.StatusSeeOther {
				t.Errorf("logging out: %+v", out)
			}
			if page := b.get(c.server.URL+"/", "Accept", "*/*"); page.status != http.StatusUnauthorized {
				t.Errorf("after that: %+v", page)
			}
			if err := c.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.clock.Step(2 * time.Second) // the keys are asked for at most once a second
			joe := newBrowser(t)
			if ended := joe.get(c.signIn(joe, "joe", "/")); ended.status != http.StatusSeeOther {
				t.Fatalf("with new keys: %+v", ended)
			}
			if page := joe.get(c.server.URL + "/"); !strings.HasPrefix(page.body, "corp:joe of oidc in []") {
				t.Errorf("who is it: %+v", page)
			}
		})
	}
}

// TestCertifiedProviderHoldsUsToIt: another client cannot use a code, and a user can decline.
func TestCertifiedProviderHoldsUsToIt(t *testing.T) {
	c := startCertified(t, "ES256")
	thief, b := newBrowser(t), newBrowser(t)
	stolen, err := url.Parse(c.signIn(newBrowser(t), "jane", "/"))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := url.Parse(c.signIn(thief, "joe", "/"))
	if err != nil {
		t.Fatal(err)
	}
	q := mine.Query()
	if q.Get("iss") != c.Issuer { // RFC 9207, which the document says that it does
		t.Errorf("the answer is of %q", q.Get("iss"))
	}
	q.Set("code", stolen.Query().Get("code"))
	mine.RawQuery = q.Encode()
	if ended := thief.get(mine.String()); ended.status != http.StatusUnauthorized ||
		!ended.says("rejected the code") {
		t.Errorf("with the code of another browser: %+v", ended)
	}
	_, at := c.follow(b, b.get(c.server.URL+LoginPath))
	_, back := c.follow(b, b.get(at+"/abort"))
	if ended := b.get(back); ended.status != http.StatusUnauthorized || !ended.says("access_denied") {
		t.Errorf("a user that declines: %+v", ended)
	}
}
