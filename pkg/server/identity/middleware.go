package identity

import (
	"errors"
	"math"
	"net/http"
	"strconv"
)

// Authenticator says who is calling. Its error is an *Error.
type Authenticator interface {
	Authenticate(*http.Request) (Identity, error)
}

// WriteProblem answers a request with problem+json. field is empty where no field of the body is to blame.
type WriteProblem func(w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string)

// realm of the challenges.
const realm = "trainingjob-server"

// Middleware passes on requests whose caller is known, with the Identity in their context, and answers all
// others.
func Middleware(a Authenticator, write WriteProblem) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, err := a.Authenticate(r)
			if err == nil {
				next.ServeHTTP(w, r.WithContext(NewContext(r.Context(), id)))
				return
			}
			Refuse(w, r, err, write)
		})
	}
}

// Refuse a request for the error of an Authenticator.
func Refuse(w http.ResponseWriter, r *http.Request, err error, write WriteProblem) {
	known := &Error{}
	if !errors.As(err, &known) {
		known = unavailable("tell an admin: the server's log has more", "the server cannot say who is calling")
	}
	known.header(w.Header())
	write(w, r, known.Status(), known.Detail, "", known.Remedy)
}

// header sets what HTTP has for the error: a challenge as RFC 6750 section 3 has it, and when to try again.
func (e *Error) header(h http.Header) {
	switch {
	case errors.Is(e.kind, ErrNone):
		h.Set("WWW-Authenticate", `Bearer realm="`+realm+`"`)
	case errors.Is(e.kind, ErrRejected):
		h.Set("WWW-Authenticate", `Bearer realm="`+realm+`", error="invalid_token"`)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}
