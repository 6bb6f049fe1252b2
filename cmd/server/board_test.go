package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// TestBoard: strangers get its files, and are led to the login by its pages; without it there is nothing.
func TestBoard(t *testing.T) {
	handler, err := newProcess(t).routes()
	if err != nil {
		t.Fatal(err)
	}
	get := func(handler http.Handler, path, accept string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", accept)
		handler.ServeHTTP(w, r)
		return w
	}
	w := get(handler, "/board/clusters/main/jobs", "text/html")
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/login?next=") {
		t.Errorf("status %d to %s", w.Code, to)
	}
	w = get(handler, "/board/clusters/main/jobs?live=1", "text/event-stream")
	if w.Code != http.StatusUnauthorized {
		t.Errorf("a stream of a stranger: status %d", w.Code)
	}
	if w := get(handler, "/board/static/x/board.css", "text/css"); w.Code != http.StatusOK {
		t.Errorf("a static file: status %d", w.Code)
	}
	off := newProcess(t)
	off.config.Board.Enabled = false
	off.registry = prometheus.NewRegistry()
	if off.callers, err = off.newCallers(); err != nil {
		t.Fatal(err)
	}
	if handler, err = off.routes(); err != nil {
		t.Fatal(err)
	}
	if w := get(handler, "/board/static/x/board.css", "text/css"); w.Code != http.StatusUnauthorized {
		t.Errorf("without the board: status %d", w.Code)
	}
}

// TestPlacement: nodes and pods of every cluster are followed where there is a board to show them.
func TestPlacement(t *testing.T) {
	p := newProcess(t)
	s, err := p.placement.Snapshot("main")
	if err != nil || s.NodesKnown || len(s.Problems) != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
	p.config.Board.Enabled = false
	if p.placement, err = p.newPlacement(); p.placement != nil || err != nil {
		t.Errorf("without a board: %v, %v", p.placement, err)
	}
	p.config.Board.Enabled, p.config.Listen.BindAddress = true, config.Off
	if p.placement, err = p.newPlacement(); p.placement != nil || err != nil {
		t.Errorf("without an API: %v, %v", p.placement, err)
	}
}

// TestBoardOfSession: its pages have the session's token and a way to log out, and changes without the token
// are refused. The cluster is away, which a page says, too.
func TestBoardOfSession(t *testing.T) {
	p := newProcess(t)
	p.config.Board.OneTimeLink.User = "demo:ann"
	p.registry = prometheus.NewRegistry()
	var err error
	if p.callers, err = p.newCallers(); err != nil {
		t.Fatal(err)
	}
	handler, err := p.routes()
	if err != nil {
		t.Fatal(err)
	}
	var link strings.Builder
	if err := p.callers.sessions.OfferLink("http://localhost", &link); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(link.String(), "/login?once=")
	if at < 0 {
		t.Fatalf("no link in %q", link.String())
	}
	w := httptest.NewRecorder()
	path := strings.Fields(link.String()[at:])[0]
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	cookies := w.Result().Cookies()
	if len(cookies) == 0 {
		t.Fatalf("status %d without a cookie: %s", w.Code, w.Body)
	}
	do := func(method, path, form string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(form))
		for _, c := range cookies {
			r.AddCookie(c)
		}
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		handler.ServeHTTP(w, r)
		return w
	}
	if w := do(http.MethodGet, "/", ""); w.Code != http.StatusFound || w.Header().Get("Location") != "/board/" {
		t.Errorf("/ is status %d to %s", w.Code, w.Header().Get("Location"))
	}
	page := do(http.MethodGet, "/board/clusters/main/submit", "").Body.String()
	_, after, _ := strings.Cut(page, `name="csrf" value="`)
	token, _, _ := strings.Cut(after, `"`)
	if token == "" || !strings.Contains(page, "demo:ann") || !strings.Contains(page, `action="/logout"`) {
		t.Fatal(page)
	}
	w = do(http.MethodGet, "/board/clusters/main/jobs", "")
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "are not listed yet") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	submit := "/board/clusters/main/submit"
	if w := do(http.MethodPost, submit, "do=show"); w.Code != http.StatusForbidden {
		t.Errorf("without the token: status %d", w.Code)
	}
	if w := do(http.MethodPost, submit, "do=show&name=bert&csrf="+token); w.Code != http.StatusOK {
		t.Errorf("with the token: status %d: %s", w.Code, w.Body)
	}
}

// TestFormGPU: a pattern is no resource that a job could ask for.
func TestFormGPU(t *testing.T) {
	for _, test := range []struct {
		counted framework.GPUs
		want    string
	}{
		{config.Default().GPUs, "nvidia.com/gpu"},
		{framework.GPUs{"!nvidia.com/gpu", "*/gpu", "example.com/npu"}, "example.com/npu"},
		{framework.GPUs{"amd.com/gpu", "nvidia.com/gpu"}, "nvidia.com/gpu"},
		{framework.GPUs{"example.com/npu-*"}, ""},
	} {
		if got := formGPU(test.counted); got != test.want {
			t.Errorf("of %q it is %q, want %q", test.counted, got, test.want)
		}
	}
}
