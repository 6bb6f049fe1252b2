package session

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

var _ identity.Authenticator = (*Sessions)(nil)

// Authenticate returns the caller, by explicit credentials if there are any, else by the cookie. With a
// cookie, requests that change something need the CSRF token. The error is an *identity.Error.
func (s *Sessions) Authenticate(r *http.Request) (identity.Identity, error) {
	id, _, err := s.authenticate(r)
	return id, err
}

// authenticate also returns the session, if the request has one.
func (s *Sessions) authenticate(r *http.Request) (identity.Identity, *Session, error) {
	if identity.Explicit(r) || len(r.CookiesNamed(s.cookies.name(cookieSession))) == 0 {
		id, err := s.identity.Authenticate(r)
		return id, nil, err
	}
	found, err := s.of(r)
	if err == nil && !found.asksFor(r) {
		err = identity.Forged("the request has no valid CSRF token of your session",
			"reload the page and try again. Scripts send the header "+CSRFHeader+", forms the field "+CSRFField)
	}
	s.metrics.authentications.WithLabelValues(resultOf(err)).Inc()
	if err != nil {
		return identity.Identity{}, nil, err
	}
	return found.Identity, found, nil
}

// Middleware handles requests with a known caller, and adds the Identity and any Session to their context. It
// redirects other browsers that navigate to a page to the login, and rejects all other requests with a
// problem.
func (s *Sessions) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, found, err := s.authenticate(r)
		switch {
		case err != nil:
			s.refuse(w, r, err)
		case found == nil:
			next.ServeHTTP(w, r.WithContext(identity.NewContext(r.Context(), id)))
		default:
			ctx, leave := s.requests.begin(NewContext(r.Context(), found), found)
			defer leave()
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}

func (s *Sessions) refuse(w http.ResponseWriter, r *http.Request, err error) {
	program := identity.Explicit(r) || !goesToPage(r)
	if errors.Is(err, identity.ErrRejected) && !identity.Explicit(r) {
		s.cookies.remove(w, cookieSession)
	}
	switch {
	case program:
		identity.Refuse(w, r, err, s.write)
	case safe(r.Method) && (errors.Is(err, identity.ErrNone) || errors.Is(err, identity.ErrRejected)):
		http.Redirect(w, r, loginFor(r.URL.RequestURI()), http.StatusSeeOther)
	default:
		s.tell(w, r, err)
	}
}

// goesToPage reports whether a browser navigates to a page, by a link or a form. Requests of scripts have
// other headers.
func goesToPage(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return false
	}
	for accepted := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, parameters, _ := strings.Cut(accepted, ";")
		if strings.EqualFold(strings.TrimSpace(media), "text/html") {
			return !slices.Contains(strings.Fields(strings.ReplaceAll(parameters, ";", " ")), "q=0")
		}
	}
	return false
}
