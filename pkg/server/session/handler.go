package session

import (
	"net/http"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// Paths of login and logout.
const (
	LoginPath    = "/login"
	CallbackPath = LoginPath + "/callback"
	LogoutPath   = "/logout"

	stylePath = LoginPath + "/style.css"
)

// Parameters of LoginPath, in its URL or its form.
const (
	fieldNext   = "next"   // the path to which the login leads
	fieldIssuer = "issuer" // the URL of the issuer
	fieldOnce   = "once"   // the secret of the one-time link
	fieldToken  = "token"  // of the cluster
	fieldOut    = "out"    // the browser has just logged out
)

// Open reports whether a path is for browsers without a login.
func Open(path string) bool {
	return path == LoginPath || path == CallbackPath || path == LogoutPath || path == stylePath
}

// Register registers the paths. They must not be behind Middleware, but behind a check of forms from other
// sites, as in shield.
func (s *Sessions) Register(mux *http.ServeMux) {
	mux.HandleFunc(LoginPath, methods{http.MethodGet: s.login, http.MethodPost: s.loginByToken}.serve)
	mux.HandleFunc(CallbackPath, methods{http.MethodGet: s.callback}.serve)
	mux.HandleFunc(LogoutPath, methods{http.MethodPost: s.logout}.serve)
	mux.HandleFunc(stylePath, methods{http.MethodGet: serveStyle}.serve)
}

// methods of a path. HEAD is not among them: it would use up a code or link without a visible result.
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
		Title: "Method not allowed", Problem: "This address does not accept " + r.Method + " requests.",
	}.write(w, http.StatusMethodNotAllowed)
}

// login shows the login methods, or starts the chosen one.
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
		s.tell(w, r, identity.Rejected("the issuer does not offer login", "choose one of the listed issuers"))
		return
	}
	// After a logout the only issuer would log the user in again at once.
	if len(issuers) == 1 && s.identity.ReviewAudience() == "" && !asked.Has(fieldOut) {
		s.begin(w, r, issuers[0], next)
		return
	}
	p := s.page(next)
	if asked.Has(fieldOut) {
		p.Title, p.Notice = "Logged out",
			"You are logged out of this server. Your issuer can still have you "+
				"logged in."
	}
	p.write(w, http.StatusOK)
}

// logout ends the browser's session, and succeeds if it has already ended.
func (s *Sessions) logout(w http.ResponseWriter, r *http.Request) {
	found, err := s.of(r)
	switch known := statusOf(err); {
	case known == http.StatusServiceUnavailable:
		s.tell(w, r, err) // the browser is still logged in
		return
	case found != nil && !found.asksFor(r):
		s.tell(w, r, identity.Forged("the request has no valid CSRF token of your session",
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

// end ends a session on all replicas, and its requests on this one.
func (s *Sessions) end(r *http.Request, found *Session) error {
	if err := s.store.EndSession(r.Context(), found.id); err != nil {
		return s.unavailable(r.Context(), err)
	}
	s.requests.end(found.id)
	return nil
}
