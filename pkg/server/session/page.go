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

// pagePolicy allows only the page's own style and form.
const pagePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// page shows the login methods and the last error.
type page struct {
	Title string
	// Notice, Problem and Remedy are sentences; empty for none.
	Notice, Problem, Remedy string
	Issuers                 []issuerLink
	// Audience of the cluster's tokens; empty if they are not accepted.
	Audience string
	// Next is the path to which the login leads.
	Next string
	// Ways reports whether the page has login methods.
	Ways bool
}

// issuerLink begins a login. It is not a form: browsers apply form-action to the target of a form's redirect.
type issuerLink struct{ Name, Href string }

// page returns the page with the login methods.
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
	_ = loginPage.Execute(w, p) // the browser can have disconnected
}

// tell shows a browser why the login or the request failed, and how to log in.
func (s *Sessions) tell(w http.ResponseWriter, r *http.Request, err error) {
	p := s.page(s.nextOf(r))
	p.Title = "Not logged in"
	known := &identity.Error{}
	if !errors.As(err, &known) {
		known = identity.Unavailable("the server has failed",
			"report this to an admin: the server's log has the cause")
	}
	if errors.Is(err, identity.ErrForged) {
		p.Title, p.Issuers, p.Audience, p.Ways = "Request failed", nil, "", false
	}
	if known.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(known.RetryAfter.Seconds()))))
	}
	if known.Status() == http.StatusUnauthorized { // needs a challenge, but not one that prompts for a password
		w.Header().Set("WWW-Authenticate", "Cookie")
	}
	p.Problem, p.Remedy = sentence(known.Detail), sentence(known.Remedy)
	p.write(w, known.Status())
}

// nextOf returns where a login that starts on the response's page leads.
func (s *Sessions) nextOf(r *http.Request) string {
	switch {
	case r.URL.Path == CallbackPath: // failed: the retry leads to the same page
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

// statusOf returns the status of an *identity.Error; 0 for none.
func statusOf(err error) int {
	known := &identity.Error{}
	if errors.As(err, &known) {
		return known.Status()
	}
	return 0
}

// sentence adds a capital and a full stop.
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
