package session

import (
	"embed"
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

//go:embed login.html style.css
var files embed.FS

var loginPage = template.Must(template.ParseFS(files, "login.html"))

// pagePolicy lets the page have its style and its form, and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// page shows the ways to log in, and what has gone wrong.
type page struct {
	Title string
	// Said, Problem and Remedy are sentences; empty for none.
	Said, Problem, Remedy string
	Issuers               []issuerLink
	// Audience of the cluster's tokens; empty where they are not accepted.
	Audience string
	// Next is the path to which the login leads.
	Next string
	// Ways reports whether the page has ways to log in. Where there are none it says so.
	Ways bool
}

// issuerLink begins a login. It is a link and no form: browsers hold form-action against what a form is
// redirected to.
type issuerLink struct{ Name, Href string }

// page with the ways to log in.
func (s *Sessions) page(next string) page {
	p := page{Title: "Log in", Audience: s.identity.ReviewAudience(), Next: next, Ways: true}
	for _, issuer := range s.identity.LoginIssuers() {
		query := url.Values{fieldIssuer: {issuer.URL()}}
		if next != home {
			query.Set(fieldNext, next)
		}
		p.Issuers = append(p.Issuers, issuerLink{
			Name: strings.TrimSuffix(strings.TrimPrefix(issuer.URL(), "https://"), "/"),
			Href: LoginPath + "?" + query.Encode(),
		})
	}
	return p
}

func (p page) write(w http.ResponseWriter, status int) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = loginPage.Execute(w, p) // to a browser that may be gone
}

// tell a browser why it is not logged in, or not answered, and how to log in.
func (s *Sessions) tell(w http.ResponseWriter, r *http.Request, err error) {
	p := s.page(s.nextOf(r))
	p.Title = "Not logged in"
	known := &identity.Error{}
	if !errors.As(err, &known) {
		known = identity.Unavailable("the server has made a mistake", "tell an admin: the server's log has more")
	}
	if errors.Is(err, identity.ErrForged) {
		p.Title, p.Issuers, p.Audience, p.Ways = "Not done", nil, "", false
	}
	if known.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(known.RetryAfter.Seconds()))))
	}
	if known.Status() == http.StatusUnauthorized { // which needs a challenge, but none that asks for a password
		w.Header().Set("WWW-Authenticate", "Cookie")
	}
	p.Problem, p.Remedy = sentence(known.Detail), sentence(known.Remedy)
	p.write(w, known.Status())
}

// nextOf a request is where a login leads that the page of its answer begins.
func (s *Sessions) nextOf(r *http.Request) string {
	switch {
	case r.URL.Path == CallbackPath: // which has failed: the next try leads to the same page
		value, _ := s.cookies.value(r, loginCookie(r.URL.Query().Get("state")))
		p, _ := decodePending(value)
		return localPath(p.Next)
	case r.URL.Path == LoginPath && r.Method == http.MethodPost:
		return localPath(r.PostFormValue(fieldNext))
	case r.URL.Path == LoginPath:
		return localPath(r.URL.Query().Get(fieldNext))
	case safe(r.Method):
		return localPath(r.URL.RequestURI())
	}
	return home
}

// statusOf an error that is an *identity.Error; 0 of none.
func statusOf(err error) int {
	known := &identity.Error{}
	if errors.As(err, &known) {
		return known.Status()
	}
	return 0
}

// sentence of words that begin small and have no full stop.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(words)
	if !strings.HasPrefix(words, "http") {
		words = string(unicode.ToUpper(first)) + words[size:]
	}
	return strings.TrimRight(words, ".") + "."
}

func serveStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "style.css")
}
