package session

import (
	"bytes"
	"encoding/hex"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// TestForgedRequests: nothing changes by a cookie alone.
func TestForgedRequests(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b, another := newBrowser(t), newBrowser(t)
	b.login(r, issuer)
	another.login(r, issuer)
	csrf, foreign := b.csrf(r), another.csrf(r)
	if csrf == foreign {
		t.Fatal("two sessions of one user have the same token")
	}
	parts, kind := multiparted(t, csrf)
	const json, form = "application/json", "application/x-www-form-urlencoded"
	for name, tc := range map[string]struct {
		method, query, body, kind, header string
		passes                            bool
	}{
		"a page":              {"GET", "", "", "", "", true},
		"its headers":         {"HEAD", "", "", "", "", true},
		"without":             {"POST", "", "{}", json, "", false},
		"deleting without":    {"DELETE", "", "", "", "", false},
		"an unknown method":   {"REMOVE", "", "", "", "", false},
		"the header":          {"POST", "", "{}", json, csrf, true},
		"deleting":            {"DELETE", "", "", "", csrf, true},
		"changing":            {"PATCH", "", "{}", json, csrf, true},
		"of another session":  {"POST", "", "{}", json, foreign, false},
		"a wrong one":         {"POST", "", "{}", json, csrf + "A", false},
		"a form":              {"POST", "", "a=b&csrf=" + csrf, form, "", true},
		"a form without":      {"POST", "", "a=b", form, "", false},
		"another's form":      {"POST", "", "csrf=" + foreign, form, "", false},
		"a form with a file":  {"POST", "", parts, kind, "", true},
		"a form that deletes": {"DELETE", "", "csrf=" + csrf, form, "", false},
		"in the URL":          {"POST", "?csrf=" + csrf, "", form, "", false},
		"in JSON":             {"POST", "", `{"csrf":"` + csrf + `"}`, json, "", false},
		"as text":             {"POST", "", "csrf=" + csrf, "text/plain", "", false},
	} {
		before := r.changes
		page := b.send(tc.method, r.server.URL+"/jobs"+tc.query, strings.NewReader(tc.body), "Accept", "*/*",
			"Content-Type", tc.kind, CSRFHeader, tc.header)
		if tc.passes != (page.status == http.StatusOK) || !tc.passes && page.status != http.StatusForbidden {
			t.Errorf("%s: %+v", name, page)
		}
		if changed := r.changes > before; changed != (tc.passes && !safe(tc.method)) {
			t.Errorf("%s: it is handled: %t", name, changed)
		}
	}
	if page := b.post(r.server.URL+"/jobs", nil); page.status != http.StatusForbidden ||
		!strings.Contains(page.body, "<h1>Request failed</h1>") {
		t.Errorf("a form without token: no page: %+v", page)
	}
	out := b.post(r.server.URL+LogoutPath, url.Values{CSRFField: {foreign}})
	if out.status != http.StatusForbidden {
		t.Errorf("logging another user out: %+v", out)
	}
	if b.csrf(r) != csrf {
		t.Error("the session is another")
	}
}

func multiparted(t *testing.T, csrf string) (body, kind string) {
	t.Helper()
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	file, err := w.CreateFormFile("manifest", "job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write([]byte("kind: TrainingJob")); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField(CSRFField, csrf); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String(), w.FormDataContentType()
}

// TestExplicitCredentialsCountFirst, even where they are rejected; they need no token of a page.
func TestExplicitCredentialsCountFirst(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	c := identity.Default()
	c.OIDC = []identity.Issuer{issuer.config("corp:")}
	r := newReplica(t, setting{clock: fake, identity: c})
	b := newBrowser(t)
	b.login(r, issuer)
	page := b.send(http.MethodPost, r.server.URL+"/jobs", nil, "Authorization", "Bearer "+reviewed)
	if page.status != http.StatusOK || strings.Contains(page.body, "csrf=") ||
		!strings.HasPrefix(page.body, "system:serviceaccount:team-a:ci of token_review") {
		t.Errorf("a token beside the cookie: %+v", page)
	}
	page = b.get(r.server.URL+"/jobs", "Authorization", "Bearer wrong")
	if page.status != http.StatusUnauthorized || b.cookie(r, cookieSession) == "" {
		t.Errorf("a wrong one: %+v", page)
	}
	if page := b.get(r.server.URL+"/jobs", "X-User", "jane"); page.status != http.StatusUnauthorized {
		t.Errorf("headers of a proxy without a user: %+v", page)
	}
}

// TestStolenRows: the contents of the database cannot log in.
func TestStolenRows(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b := newBrowser(t)
	b.login(r, issuer)
	secret, ok := decodeSecret(b.cookie(r, cookieSession))
	if !ok {
		t.Fatal("the cookie is not a secret")
	}
	id := idOf(secret)
	found, err := r.store.Session(t.Context(), id, fake.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range []string{b.cookie(r, cookieSession), hex.EncodeToString(secret), b.csrf(r)} {
		if strings.Contains(string(found.Identity)+found.Owner, held) {
			t.Error("the database has what the browser has")
		}
	}
	for _, stolen := range []string{hex.EncodeToString(id[:]), encodeSecret(id[:]), string(id[:])} {
		page := newBrowser(t).get(r.server.URL+"/", "Accept", "*/*", "Cookie",
			r.cookies.name(cookieSession)+"="+url.QueryEscape(stolen))
		if page.status != http.StatusUnauthorized {
			t.Errorf("a stolen id: %+v", page)
		}
	}
}

// TestLoggingOut ends nothing but the session of the browser, and only what it can.
func TestLoggingOut(t *testing.T) {
	fake := newClock()
	issuer := newFakeIssuer(t, fake)
	r := newReplica(t, setting{clock: fake, identity: noReviews(issuer.config("corp:"))})
	b, elsewhere := newBrowser(t), newBrowser(t)
	b.login(r, issuer)
	elsewhere.login(r, issuer)
	csrf := url.Values{CSRFField: {b.csrf(r)}}
	r.store.fail(true)
	if out := b.post(r.server.URL+LogoutPath, csrf); out.status != http.StatusServiceUnavailable ||
		b.cookie(r, cookieSession) == "" {
		t.Errorf("while the database is away no session ends: %+v", out)
	}
	if page := b.get(r.server.URL + "/"); page.status != http.StatusServiceUnavailable {
		t.Errorf("nor in: %+v", page)
	}
	r.store.fail(false)
	for range 2 { // the second time there is nothing to end
		if out := b.post(r.server.URL+LogoutPath, csrf); out.status != http.StatusSeeOther {
			t.Errorf("logging out: %+v", out)
		}
	}
	elsewhere.csrf(r) // who is logged in still
}
