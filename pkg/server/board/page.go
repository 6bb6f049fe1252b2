package board

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
)

// Parameters that ask for the updates of a page.
const (
	parameterLive  = "live"
	parameterState = "state"
)

// view is a page as it is for its caller now.
type view struct {
	title string
	// fragments may change while the page is shown.
	fragments []fragment.Fragment
	// stays says of an update that what is in other containers than those of the fragments stays as it is.
	stays bool
	// uid of the job that is shown, where it is one: the page's updates are of this one, whoever has its name
	// then.
	uid types.UID
	// body is the frame with the fragments in it. Updates do not need it.
	body func([]fragment.Fragment) (template.HTML, error)
	// status of the answer; 0 is 200.
	status int
}

// page that can be asked for.
type page struct {
	// name of the page in metrics.
	name string
	// render the page as the request's caller. What the caller may not see is an error.
	render func(*http.Request) (view, error)
	// watch says which jobs the page is about: it is rendered anew when one of them changes.
	watch func(*http.Request) live.Filter
	// ranks reports whether it is about the ranks of the job that the path names, too.
	ranks bool
	// rest is the least time between two updates, for pages that cost the cluster or the database more than
	// the others; 0 for Options.Interval. Without watch and rest a page has no updates.
	rest time.Duration
	// gone is the update that says what an error of render means where it is not the end of the page: its job
	// was deleted. Nil: there is none.
	gone func(*http.Request, error) (update view, is bool)
}

func (p *page) isLive() bool { return p.watch != nil || p.rest > 0 }

func watchCluster(*http.Request) live.Filter { return live.Filter{} }

func watchNamespace(r *http.Request) live.Filter {
	return live.Filter{Namespace: strings.TrimSpace(r.URL.Query().Get("namespace"))}
}

func watchJob(r *http.Request) live.Filter {
	return live.Filter{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// page answers GET of a path, with the page or its updates.
func (b *Board) page(path string, p page) {
	b.metrics.expect(p.name)
	p.render = b.counted(p.name, p.render)
	b.handle(http.MethodGet, path, func(w http.ResponseWriter, r *http.Request) {
		if p.isLive() && r.Method == http.MethodGet && r.URL.Query().Has(parameterLive) {
			b.stream(w, r, p)
			return
		}
		v, err := p.render(r)
		b.metrics.answered(p.name, err)
		if err != nil {
			b.failJob(w, r, err)
			return
		}
		b.show(w, r, v, p.isLive())
	})
}

// show a page.
func (b *Board) show(w http.ResponseWriter, r *http.Request, v view, isLive bool) {
	l := b.layout(r, v.title)
	body, err := v.body(v.fragments)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	l.Body = body
	if isLive {
		l.Live, l.State = liveURL(r, v.uid), fragment.StateOf(v.fragments).Digest()
	}
	b.write(w, r, v.status, l)
}

// write a whole page, or none of it.
func (b *Board) write(w http.ResponseWriter, r *http.Request, status int, l layout) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "layout", l); err != nil {
		b.Log.Error(err, "A page cannot be rendered", "path", r.URL.Path)
		http.Error(w, "the server has failed: tell an admin, whose log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(out.Bytes()) // to a browser that may be gone
}

func isKnown(r *http.Request) bool {
	_, known := identity.FromContext(r.Context())
	return known
}
