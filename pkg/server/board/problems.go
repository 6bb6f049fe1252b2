package board

import (
	"html/template"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
)

// fail answers with an error: a page, or for a program as the API does. It logs internal causes.
func (b *Board) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Of(err)
	b.log(r, p)
	b.Problem(w, r, p)
}

func (b *Board) log(r *http.Request, p *problem.Problem) {
	if cause := p.Cause(); cause != nil && r.Context().Err() == nil {
		b.Log.Error(cause, "Failed to answer a page", "path", r.URL.Path, "status", p.Status)
	}
}

// wantsPage reports whether the client is a browser.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// Problem answers a request for a page; middleware before the board uses it, too.
func (b *Board) Problem(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	if !wantsPage(r) {
		problem.Write(w, r, p)
		return
	}
	setPolicy(w.Header())
	maps.Copy(w.Header(), p.GetHeaders())
	l := b.layout(r, p.Title)
	if r.Method == http.MethodGet {
		l.Refresh, _ = strconv.Atoi(p.GetHeaders().Get("Retry-After")) // 0 where it is absent
	}
	body, err := execute("problem", p)
	if err != nil {
		b.Log.Error(err, "Failed to render a problem")
	}
	l.Body = body
	b.write(w, r, p.Status, l)
}

// shown is a view without fragments.
func shown(title, name string, data any, status int) view {
	return view{title: title, status: status, body: func([]fragment.Fragment) (template.HTML, error) {
		return execute(name, data)
	}}
}
