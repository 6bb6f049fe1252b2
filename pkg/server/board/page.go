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

// Parameters of the requests for updates of a page.
const (
	parameterLive  = "live"
	parameterState = "state"
)

// view is a page for its caller at one moment.
type view struct {
	title string
	// fragments that can change while the page is shown.
	fragments []fragment.Fragment
	// stays is set on an update that leaves all other containers as they are.
	stays bool
	// uid of the job on the page, if any: the updates are for this job, even if another gets its name.
	uid types.UID
	// body returns the frame with the fragments in it. Updates do not need it.
	body func([]fragment.Fragment) (template.HTML, error)
	// status of the answer; 0 is 200.
	status int
}

// content of a page, as the packages of the pages describe it.
type content interface {
	Fragments() ([]fragment.Fragment, error)
	Body(fragments []fragment.Fragment) (template.HTML, error)
}

func viewOf(title string, c content) (view, error) {
	fragments, err := c.Fragments()
	return view{title: title, fragments: fragments, body: c.Body}, err
}

// page is a route.
type page struct {
	// name of the page in metrics.
	name string
	// render the page with the rights of the request's caller. An error hides the page.
	render func(*http.Request) (view, error)
	// watch returns the filter of the jobs whose changes render the page again.
	watch func(*http.Request) live.Filter
	// ranks reports whether changes of the ranks of the job in the path render the page again.
	ranks bool
	// rest is the minimum time between two updates, for pages that load the cluster or the database; 0 for
	// Options.Interval. A page without watch and rest has no updates.
	rest time.Duration
	// gone returns an update for an error of render that does not end the page, because its job was deleted.
	// Nil: none.
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

// page handles GET of a path, with the page or its updates.
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

// write a page completely or not at all.
func (b *Board) write(w http.ResponseWriter, r *http.Request, status int, l layout) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "layout", l); err != nil {
		b.Log.Error(err, "Failed to render a page", "path", r.URL.Path)
		http.Error(w, "the server has failed: ask an admin to look for the cause in its log",
			http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(out.Bytes()) // the browser can be gone
}

func isKnown(r *http.Request) bool {
	_, known := identity.FromContext(r.Context())
	return known
}
