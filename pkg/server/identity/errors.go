package identity

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What an Error is about, for errors.Is.
var (
	// ErrNone: the request does not say who is calling. It is answered with 401.
	ErrNone = errors.New("no credentials")
	// ErrRejected: what the request says is not accepted. It is answered with 401.
	ErrRejected = errors.New("credentials rejected")
	// ErrTooMany: too much from the caller's address was not accepted of late. It is answered with 429.
	ErrTooMany = errors.New("too many rejected credentials")
	// ErrUnavailable: nobody can say now whether to accept it. It is answered with 503.
	ErrUnavailable = errors.New("credentials cannot be checked now")
	// ErrForged: a browser has sent the credentials by itself, and nothing shows that a page of this server asked
	// for what the request changes. It is answered with 403.
	ErrForged = errors.New("the request may be forged")
)

// Error says why a request is not authenticated. It never holds a token.
type Error struct {
	kind error
	// Detail is what is wrong, for the caller.
	Detail string
	// Remedy is what the caller can do.
	Remedy string
	// RetryAfter is when it may try again; 0: not before it has changed something.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s: %s", e.kind, e.Detail, e.Remedy) }

// Unwrap returns what the error is about.
func (e *Error) Unwrap() error { return e.kind }

// Status is the HTTP status that answers the request.
func (e *Error) Status() int {
	switch {
	case errors.Is(e.kind, ErrTooMany):
		return http.StatusTooManyRequests
	case errors.Is(e.kind, ErrUnavailable):
		return http.StatusServiceUnavailable
	case errors.Is(e.kind, ErrForged):
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// Rejected is the error of an Authenticator that does not accept what a request says. Neither text may hold
// what the request has said.
func Rejected(detail, remedy string) *Error { return rejected(remedy, "%s", detail) }

// TooMany is the error of an Authenticator for an address of which it did not accept too much of late.
func TooMany(detail, remedy string) *Error {
	return &Error{kind: ErrTooMany, Detail: detail, Remedy: remedy, RetryAfter: retryTooMany}
}

// Forged is the error of an Authenticator for a request that another site's page may have sent.
func Forged(detail, remedy string) *Error {
	return &Error{kind: ErrForged, Detail: detail, Remedy: remedy}
}

// Unavailable is the error of an Authenticator that cannot say now whether it accepts what a request says.
func Unavailable(detail, remedy string) *Error { return unavailable(remedy, "%s", detail) }

func rejected(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrRejected, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func unavailable(remedy, format string, args ...any) *Error {
	return &Error{
		kind: ErrUnavailable, Detail: fmt.Sprintf(format, args...), Remedy: remedy, RetryAfter: retryUnavailable,
	}
}
