package session

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// TestLoginsInTabs: a browser that opens several tabs ends all logins in any order, and each tab comes back
// to its page; a login that failed, or a forged answer, disturbs no other.
func TestLoginsInTabs(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	first, second := b.toCallback(r, issuer, "/first"), b.toCallback(r, issuer, "/second")
	issuer.change(func() { issuer.answer = url.Values{"error": {"access_denied"}} })
	if declined := b.get(b.toCallback(r, issuer, "/third")); !declined.says("access_denied") {
		t.Errorf("the third is declined: %+v", declined)
	}
	forged := r.server.URL + CallbackPath + "?code=x&state=" + encodeSecret(newSecret())
	if got := b.get(forged); !got.says("did not begin in this browser") {
		t.Errorf("a forged answer: %+v", got)
	}
	for at, next := range map[string]string{second: "/second", first: "/first"} {
		if got := b.get(at); got.status != http.StatusSeeOther || got.location != r.server.URL+next {
			t.Errorf("%s: %+v", next, got)
		}
		if page := b.get(r.server.URL + "/"); !page.says("corp:") {
			t.Errorf("after %s: %+v", next, page)
		}
		if got := b.get(at); !got.says("did not begin in this browser, or has expired") {
			t.Errorf("%s once more: %+v", next, got)
		}
	}
}

// TestLoginsOfOneBrowserAreBounded: its cookies fit into a request, whatever it opens; the last logins stay.
func TestLoginsOfOneBrowserAreBounded(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	b.plant(r, cookieLogin+"-of-another-version", "x")
	var all []string
	for range 2 * loginsOfOne {
		all = append(all, b.toCallback(r, issuer, "/"))
		fake.Step(time.Second)
	}
	at, err := url.Parse(r.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.client.Jar.Cookies(at)); n != loginsOfOne {
		t.Errorf("the browser has %d cookies", n)
	}
	var ended []bool
	for _, at := range all {
		ended = append(ended, b.get(at).status == http.StatusSeeOther)
	}
	want := append(make([]bool, loginsOfOne), slices.Repeat([]bool{true}, loginsOfOne)...)
	if !slices.Equal(ended, want) {
		t.Errorf("ended are %v", ended)
	}
}

// TestCookiesOfOthers: what is not ours is left alone.
func TestCookiesOfOthers(t *testing.T) {
	r := newReplica(t, setting{clock: newClock(), identity: identity.Default()})
	request, err := http.NewRequest(http.MethodGet, r.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"__Host-trainingjob-login-a", "trainingjob-login-b", "__Host-other"} {
		request.AddCookie(&http.Cookie{Name: name, Value: "x"})
	}
	got := r.cookies.startingWith(request, cookieLogin+"-")
	if len(got) != 1 || got["trainingjob-login-a"] != "x" {
		t.Errorf("got %v", got)
	}
}
