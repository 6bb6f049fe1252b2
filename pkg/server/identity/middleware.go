package identity

import (
	"errors"
	"math"
	"net/http"
	"strconv"
)

// Authenticator returns the caller of a request. Its error is an *Error.
type Authenticator interface {
	Authenticate(*http.Request) (Identity, error)
}

// WriteProblem writes a response of problem+json. Field is empty if no field of the body is wrong.
type WriteProblem func(w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string)

// realm of the WWW-Authenticate challenges.
const realm = "trainingjob-server"

// Middleware handles requests with a known caller, whose Identity it adds to the context. It rejects all
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

// Refuse responds to a request with the error of an Authenticator.
func Refuse(w http.ResponseWriter, r *http.Request, err error, write WriteProblem) {
	known := &Error{}
	if !errors.As(err, &known) {
		known = unavailable("report this to an admin: the server's log has the cause",
			"the server cannot authenticate the caller")
	}
	known.header(w.Header())
	write(w, r, known.Status(), known.Detail, "", known.Remedy)
}

// header sets the challenge of RFC 6750, section 3, and Retry-After.
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
