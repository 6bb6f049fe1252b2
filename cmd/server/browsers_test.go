package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
)

const page = "text/html,*/*;q=0.8"

// TestBrowsersAreSentToLogin, and programs get the API's problem.
func TestBrowsersAreSentToLogin(t *testing.T) {
	p := newProcess(t)
	handler, err := p.routes()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(
		handler http.Handler, method, path, accept string, headers ...string,
	) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("token=x"))
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for n := 0; n < len(headers); n += 2 {
			r.Header.Set(headers[n], headers[n+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	w := ask(handler, http.MethodGet, "/board/clusters/main/jobs?phase=Running", page)
	if at := w.Header().Get("Location"); w.Code != http.StatusSeeOther ||
		at != "/login?next=%2Fboard%2Fclusters%2Fmain%2Fjobs%3Fphase%3DRunning" {
		t.Errorf("a page: %d to %s", w.Code, at)
	}
	w = ask(handler, http.MethodGet, "/api/v1/clusters", "application/json")
	var notified struct{ Status int }
	if err := json.Unmarshal(w.Body.Bytes(), &notified); err != nil || w.Code != http.StatusUnauthorized ||
		notified.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("a program: %d %s", w.Code, w.Body)
	}
	w = ask(handler, http.MethodGet, "/login", page)
	for key, want := range map[string]string{
		"Content-Security-Policy": "style-src 'self'", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
	} {
		if got := w.Header().Get(key); w.Code != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("the login: %d, %s: %s", w.Code, key, got)
		}
	}
	// Another site's form could log a browser in as its own user.
	for _, path := range []string{session.LoginPath, session.LogoutPath} {
		w = ask(handler, http.MethodPost, path, page, "Sec-Fetch-Site", "cross-site")
		if w.Code != http.StatusForbidden {
			t.Errorf("another site's form to %s: %d", path, w.Code)
		}
	}

	p.config.Board.Enabled = false
	p.registry = prometheus.NewRegistry()
	if p.callers, err = p.newCallers(); err != nil {
		t.Fatal(err)
	}
	if handler, err = p.routes(); err != nil {
		t.Fatal(err)
	}
	if w := ask(handler, http.MethodGet, "/login", page); w.Code != http.StatusUnauthorized {
		t.Errorf("without a board: %d", w.Code)
	}
}

// TestOneTimeLink: the server writes it when it listens, and it leads into the API, once.
func TestOneTimeLink(t *testing.T) {
	file := filepath.Join(t.TempDir(), "link")
	p := newProcess(t)
	p.config.Listen.BindAddress = "localhost:0"
	p.config.Board.OneTimeLink = session.OneTimeLink{User: "demo:alice", File: file}
	if errs := p.config.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	p.registry = prometheus.NewRegistry()
	var err error
	if p.callers, err = p.newCallers(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := startAll(ctx, t, p.serveAPI)
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(strings.TrimSpace(string(written)))
	if err != nil || link.Scheme != "http" || link.Hostname() != "127.0.0.1" || link.Port() == "0" {
		t.Fatalf("the link is %s, %v", written, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	get := func(path string) (int, string) {
		at := *link
		at.Path, at.RawQuery, _ = strings.Cut(path, "?")
		response, err := browser.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if status, body := get("/api/v1/clusters"); status != http.StatusUnauthorized {
		t.Errorf("before it: %d %s", status, body)
	}
	if status, body := get(link.RequestURI()); status != http.StatusSeeOther {
		t.Errorf("the link: %d %s", status, body)
	}
	if status, body := get("/api/v1/clusters"); status != http.StatusOK || !strings.Contains(body, `"main"`) {
		t.Errorf("after it: %d %s", status, body)
	}
	if status, body := get(link.RequestURI()); status != http.StatusUnauthorized {
		t.Errorf("once more: %d %s", status, body)
	}
	cancel()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestLoginsNeedTheirSecrets: a file that is not there is an error when the server starts.
func TestLoginsNeedTheirSecrets(t *testing.T) {
	p := newProcess(t)
	p.config.Board.URL, p.registry = "https://board.example.com", prometheus.NewRegistry()
	p.config.Identity.OIDC = []identity.Issuer{{
		URL: "https://sso.example.com", Audiences: []string{"a"}, Prefix: "corp:",
		Login: identity.Login{ClientID: "board", ClientSecretFile: filepath.Join(t.TempDir(), "none")},
	}}
	if _, err := p.newCallers(); err == nil || !strings.Contains(err.Error(), "clientSecretFile") {
		t.Errorf("got %v", err)
	}
}
