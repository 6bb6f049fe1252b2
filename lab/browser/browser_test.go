//go:build cluster

package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/browser"
)

const page = `<!doctype html><html lang="en"><head><title>A page</title></head><body><main><h1>A page</h1>
<p id="answer">nothing</p><button id="ask">Ask</button>%s
<script src="/script.js"></script></main></body></html>`

const script = `document.querySelector('#ask').addEventListener('click', async () => {
  document.querySelector('#answer').textContent = await (await fetch('/answer')).text()
})`

func serve(t *testing.T, more string) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, more)
	})
	mux.HandleFunc("/script.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, script)
	})
	mux.HandleFunc("/answer", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "something") })
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func start(t *testing.T) *browser.Browser {
	b, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

func visit(t *testing.T, b *browser.Browser, s browser.Screen) *browser.Page {
	p, err := b.Visit(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var wide = browser.Screen{Width: 1280, Height: 800}

func TestVisit(t *testing.T) {
	p := visit(t, start(t), wide)
	at := serve(t, "")
	must(t, p.Open(at+"/"))
	must(t, p.Click("#ask"))
	must(t, p.Until(`document.querySelector('#answer').textContent === 'something'`))
	text, err := p.Text("#answer")
	must(t, err)
	if text != "something" {
		t.Errorf("text %q", text)
	}
	if want := []string{strings.TrimPrefix(at, "http://")}; !slices.Equal(p.Hosts(), want) {
		t.Errorf("hosts %v, want %v", p.Hosts(), want)
	}
	if err := p.Open(at + "/nothing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a page that is not there: %v", err)
	}
}

// TestFaults: a clean page has no faults, and each fault of another page is found.
func TestFaults(t *testing.T) {
	b := start(t)
	clean := visit(t, b, wide)
	must(t, clean.Open(serve(t, "")+"/"))
	if faults := clean.Faults(); len(faults) > 0 {
		t.Errorf("a clean page: %v", faults)
	}
	hindrances, err := clean.Hindrances(t.Context())
	must(t, err)
	if len(hindrances) > 0 {
		t.Errorf("a clean page: %v", hindrances)
	}

	bad := visit(t, b, wide)
	must(t, bad.Open(serve(t, `<script>document.title = 'inline'</script><img src="/answer">
		<input type="text"><hr width="1300">`)+"/"))
	if faults := strings.Join(bad.Faults(), "\n"); !strings.Contains(faults, "Content Security Policy") {
		t.Errorf("an inline script: %q", faults)
	}
	hindrances, err = bad.Hindrances(t.Context())
	must(t, err)
	for _, want := range []string{"image-alt (critical)", "label (critical)", "pixels wider than the screen"} {
		if !slices.ContainsFunc(hindrances, func(h string) bool { return strings.Contains(h, want) }) {
			t.Errorf("%s is not among %v", want, hindrances)
		}
	}
}

func TestScreens(t *testing.T) {
	b := start(t)
	at := serve(t, "") + "/"
	for _, s := range []browser.Screen{{Width: 400, Height: 700, Dark: true}, wide} {
		p := visit(t, b, s)
		must(t, p.Open(at))
		got, err := browser.Value[browser.Screen](p, `({Width: innerWidth, Height: innerHeight,
			Dark: matchMedia('(prefers-color-scheme: dark)').matches})`)
		must(t, err)
		if got != s {
			t.Errorf("screen %+v, want %+v", got, s)
		}
	}
}
