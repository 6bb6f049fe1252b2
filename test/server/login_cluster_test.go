//go:build cluster

package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/oidcprovider"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestBoardLogin: browsers log in to the board at a certified OpenID provider of another site, over TLS, in
// one tab and in two, decline, come back too late, log out, and are logged out with their token.
func TestBoardLogin(t *testing.T) {
	c, err := harness.Start(t.Context(), harness.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := deployed(t, c, func(c *config.ServerConfiguration) { logsInAtProvider(t, c) })
	s.letWork(t, "ml", rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "corp:ml"})
	s.person(t, "ann", true)
	s.submitAgain(t)
	s.start(t)
	b, err := browser.Start(context.Background()) // the test's own ends before it tells what it saw
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)

	for _, part := range []struct {
		name string
		play func(*visitor)
	}{
		{"as users", func(v *visitor) { v.asUsers(b) }}, {"in two tabs", (*visitor).inTwoTabs},
		{"declined", (*visitor).declined}, {"too late", (*visitor).tooLate}, {"logged out", (*visitor).loggedOut},
		{"with a token that ends", (*visitor).untilTheTokenEnds},
	} {
		t.Run(part.name, func(t *testing.T) { part.play(s.visitor(t, b, "wide")) })
	}
}

// logsInAtProvider starts a provider, and has the server log browsers in there. To a browser they are two
// sites: the provider is at 127.0.0.1 and the board at localhost.
func logsInAtProvider(t *testing.T, c *config.ServerConfiguration) {
	t.Helper()
	const client = "trainingjobs-board"
	c.Board.URL = "https://" + strings.Replace(c.Listen.BindAddress, "127.0.0.1", "localhost", 1)
	dir := t.TempDir()
	provider, err := oidcprovider.Start(t.Context(), oidcprovider.Options{
		Dir: dir, Audience: "trainingjobs",
		Users: []oidcprovider.User{{Name: "jane", Groups: []string{"ml"}}, {Name: "joe"}},
		Login: &oidcprovider.Client{ID: client, RedirectURI: c.Board.URL + session.CallbackPath},
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
	if err := os.WriteFile(secret, []byte(provider.Secret()), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Identity.OIDC = []identity.Issuer{{
		URL: provider.Issuer, CAFile: provider.CAFile, Audiences: []string{"trainingjobs"}, Prefix: "corp:",
		Login: identity.Login{ClientID: client, ClientSecretFile: secret, Scopes: []string{"groups"}},
	}}
}

// until an expression of JavaScript is true.
func (v *visitor) until(expression string) {
	v.t.Helper()
	v.must(v.Until(expression))
}

// goLogIn from a page of the board to the provider.
func (v *visitor) goLogIn(path string) {
	v.t.Helper()
	v.open(path)
	v.until(fmt.Sprintf(`location.pathname === '/login' && location.search === %q`,
		"?"+url.Values{"next": {path}}.Encode()))
	v.must(v.Click("nav a"))
}

// signIn at the provider. It may ask for consent before what is to come.
func (v *visitor) signIn(user, until string) {
	v.t.Helper()
	v.until(`document.querySelector('input[name="login"]')`)
	v.must(v.Do(
		chromedp.SetValue(chromedp.CSS(`input[name="login"]`), user),
		chromedp.SetValue(chromedp.CSS(`input[name="password"]`), "any"),
		chromedp.Click(chromedp.CSS(`button[type="submit"]`)),
	))
	const consent = `document.querySelector('input[name="prompt"][value="consent"]')`
	v.until(consent + ` || ` + until)
	if value[bool](v, `Boolean(`+consent+`)`) {
		v.must(v.Click(`button[type="submit"]`))
	}
	v.until(until)
}

// at a page of the board, as a user.
func at(path, user string) string {
	return fmt.Sprintf(`location.host.startsWith('localhost:') && location.pathname + location.search === %q &&
		document.querySelector('.user')?.textContent === %q`, path, user)
}

const jobsPage = board + "/jobs"

// asUsers: after the login the browser returns to the page, with the provider's user and that user's rights.
func (v *visitor) asUsers(b *browser.Browser) {
	page := jobsPage + "?phase=Unseen%2CPending"
	v.goLogIn(page)
	v.signIn("jane", at(page, "corp:jane"))
	v.until(row("again"))
	cookies, err := v.Cookies()
	v.must(err)
	if len(cookies) != 1 || cookies[0].Name != "__Host-trainingjob-session" || !cookies[0].HTTPOnly ||
		!cookies[0].Secure {
		v.t.Errorf("the cookies are %+v", cookies)
	}
	for _, fault := range v.Faults() {
		if strings.Contains(fault, "localhost:") || strings.Contains(fault, "Content Security Policy") {
			v.t.Errorf("the browser complains: %s", fault)
		}
	}
	joe := v.s.visitor(v.t, b, "narrow")
	joe.goLogIn(jobsPage)
	joe.signIn("joe", at(jobsPage, "corp:joe"))
	if shown := value[int](joe, `document.querySelectorAll('#jobs > tr a').length`); shown != 0 {
		v.t.Errorf("who is in no group sees %d jobs", shown)
	}
}

// inTwoTabs: both return, the first after the second; the second reports that it belongs to another session.
func (v *visitor) inTwoTabs() {
	tab, err := v.Tab()
	v.must(err)
	defer tab.Close()
	second := &visitor{tab, v.t, v.s}
	v.goLogIn(jobsPage)
	second.goLogIn(board + "/queues")
	v.until(`document.querySelector('input[name="login"]')`)
	second.signIn("jane", at(board+"/queues", "corp:jane"))
	v.signIn("jane", at(jobsPage, "corp:jane"))
	v.until(row("again"))
	second.until(`document.querySelector('#problem').textContent.includes('You have logged in again')`)
	second.must(second.Click("#problem a"))
	second.until(at(board+"/queues", "corp:jane") + ` && document.querySelector('#problem').hidden`)
}

// declined: a user who cancels sees that, and can try again.
func (v *visitor) declined() {
	v.goLogIn(jobsPage)
	v.until(`document.querySelector('a[href$="/abort"]')`)
	v.must(v.Click(`a[href$="/abort"]`))
	v.until(`document.querySelector('[role="alert"]')?.textContent.includes('access_denied')`)
	v.inspect("declined")
	v.must(v.Click("nav a"))
	v.signIn("jane", at(jobsPage, "corp:jane"))
}

// tooLate: a browser without its login's cookie gets an error. The next one needs no password, for the
// provider knows the user by then.
func (v *visitor) tooLate() {
	v.goLogIn(jobsPage)
	v.until(`document.querySelector('input[name="login"]')`)
	v.must(v.ForgetCookies(v.s.origin))
	v.signIn("jane", `document.querySelector('[role="alert"]')?.textContent.includes('has expired')`)
	v.inspect("too-late")
	v.must(v.Click("nav a"))
	v.until(at("/board/clusters/default", "corp:jane"))
	stale := v.s.origin + session.CallbackPath + "?" + url.Values{
		"code": {"x"}, "state": {strings.Repeat("A", 43)},
	}.Encode()
	if err := v.Open(stale); err == nil || !strings.Contains(err.Error(), "401") {
		v.t.Errorf("an unknown state: %v", err)
	}
	v.open(jobsPage)
	v.until(at(jobsPage, "corp:jane"))
}

// loggedOut in one tab: the other shows nothing any more, and the next login is led back.
func (v *visitor) loggedOut() {
	v.goLogIn(jobsPage)
	v.signIn("jane", at(jobsPage, "corp:jane"))
	tab, err := v.Tab()
	v.must(err)
	defer tab.Close()
	second := &visitor{tab, v.t, v.s}
	second.open(jobsPage)
	second.until(row("again"))
	v.must(v.Click(`form[action="/logout"] button`))
	v.until(`location.pathname === '/login' && document.querySelector('h1').textContent === 'Logged out'`)
	v.inspect("logged-out")
	second.isLoggedOut()
	second.must(second.Click("#problem a"))
	second.until(`location.pathname === '/login'`)
	second.must(second.Click("nav a"))
	second.until(at(jobsPage, "corp:jane"))
}

// isLoggedOut where a page of the board was open: it says so, and shows nothing any more.
func (v *visitor) isLoggedOut() {
	v.t.Helper()
	v.until(`!document.querySelector('#problem').hidden && !document.querySelector('#jobs > tr')`)
	if reported, err := v.Text("#problem"); err != nil || reported != "You are logged out Log in" {
		v.t.Errorf("it says %q, %v", reported, err)
	}
}

// untilTheTokenEnds: a session from a token ends with it, while the page is open.
func (v *visitor) untilTheTokenEnds() {
	v.open(jobsPage)
	v.until(`document.querySelector('#token')`)
	v.must(v.Do(
		chromedp.SetValue(chromedp.CSS("#token"), v.s.shortToken(v.t, "ann", 20*time.Second)),
		chromedp.Click(chromedp.CSS(`button[type="submit"]`)),
	))
	v.until(at(jobsPage, "system:serviceaccount:clever:ann"))
	v.until(row("again"))
	v.isLoggedOut()
	v.must(v.Click("#problem a"))
	v.until(`location.pathname === '/login'`)
}

// shortToken of a service account, which the cluster itself would make no shorter than of ten minutes.
func (s *stack) shortToken(t *testing.T, name string, lasts time.Duration) string {
	t.Helper()
	sa, err := s.cluster.Kube.CoreV1().ServiceAccounts("clever").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.PrivateKeyFromFile(layout.Layout{Dir: s.cluster.Dir()}.AccountsKey())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer:   "https://kubernetes.default.svc.cluster.local",
		Subject:  "system:serviceaccount:clever:" + name,
		Audience: jwt.Audience{identity.DefaultAudience},
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
		Expiry: jwt.NewNumericDate(now.Add(lasts)),
	}).Claims(map[string]any{"kubernetes.io": map[string]any{
		"namespace": "clever", "serviceaccount": map[string]any{"name": name, "uid": sa.UID},
	}}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
