package session

import (
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// Paths that browsers log in and out by.
const (
	LoginPath    = "/login"
	CallbackPath = LoginPath + "/callback"
	LogoutPath   = "/logout"

	stylePath = LoginPath + "/style.css"
)

// Parameters of LoginPath, in its URL or its form.
const (
	fieldNext   = "next"   // the path to which the login leads
	fieldIssuer = "issuer" // the URL of the issuer at which it begins
	fieldOnce   = "once"   // the secret of the one-time link
	fieldToken  = "token"  // of the cluster
	fieldOut    = "out"    // the browser has just logged out
)

// Open reports whether a path is for browsers that have not logged in.
func Open(path string) bool {
	return path == LoginPath || path == CallbackPath || path == LogoutPath || path == stylePath
}

// Register the paths. They must not be behind Middleware, but behind what keeps other sites' pages from
// sending forms, as shield does.
func (s *Sessions) Register(mux *http.ServeMux) {
	mux.HandleFunc(LoginPath, methods{http.MethodGet: s.login, http.MethodPost: s.loginByToken}.serve)
	mux.HandleFunc(CallbackPath, methods{http.MethodGet: s.callback}.serve)
	mux.HandleFunc(LogoutPath, methods{http.MethodPost: s.logout}.serve)
	mux.HandleFunc(stylePath, methods{http.MethodGet: serveStyle}.serve)
}

// methods of a path. HEAD is not among them: it would use up a code or a link that nobody then sees.
type methods map[string]http.HandlerFunc

func (m methods) serve(w http.ResponseWriter, r *http.Request) {
	if handle, ok := m[r.Method]; ok {
		handle(w, r)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if m[method] != nil {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	page{
		Title: "Nothing here", Problem: "This address does not take " + r.Method + " requests.",
	}.write(w, http.StatusMethodNotAllowed)
}

// login shows the ways to log in, or goes the one that was chosen.
func (s *Sessions) login(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	next := localPath(asked.Get(fieldNext))
	if asked.Has(fieldOnce) {
		s.loginByLink(w, r, asked.Get(fieldOnce))
		return
	}
	if found, err := s.of(r); err == nil && found != nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	issuers := s.identity.LoginIssuers()
	if asked.Has(fieldIssuer) {
		for _, issuer := range issuers {
			if issuer.URL() == asked.Get(fieldIssuer) {
				s.begin(w, r, issuer, next)
				return
			}
		}
		s.tell(w, r, identity.Rejected("nobody logs in at that issuer", "choose one of those that are listed"))
		return
	}
	// Whoever has just logged out would be logged in again at once.
	if len(issuers) == 1 && s.identity.ReviewAudience() == "" && !asked.Has(fieldOut) {
		s.begin(w, r, issuers[0], next)
		return
	}
	p := s.page(next)
	if asked.Has(fieldOut) {
		p.Title, p.Said = "Logged out", "You are logged out here. At the issuer of your account you may still be "+
			"logged in."
	}
	p.write(w, http.StatusOK)
}

// logout ends the browser's session. One that is over already is logged out, too.
func (s *Sessions) logout(w http.ResponseWriter, r *http.Request) {
	found, err := s.of(r)
	switch known := statusOf(err); {
	case known == http.StatusServiceUnavailable:
		s.tell(w, r, err) // the browser is not logged out, and must not believe that it is
		return
	case found != nil && !found.asksFor(r):
		s.tell(w, r, identity.Forged("the request does not show that a page of your session asks for it",
			"go back, reload the page and log out again"))
		return
	case found != nil:
		if err := s.end(r, found); err != nil {
			s.tell(w, r, err)
			return
		}
	}
	s.cookies.remove(w, cookieSession)
	http.Redirect(w, r, LoginPath+"?"+fieldOut+"=1", http.StatusSeeOther)
}

// end a session on all replicas, and its requests here.
func (s *Sessions) end(r *http.Request, found *Session) error {
	if err := s.store.EndSession(r.Context(), found.id); err != nil {
		return s.unavailable(r.Context(), err)
	}
	s.requests.end(found.id)
	return nil
}
