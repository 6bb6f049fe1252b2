package identity

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kinds of an Error, for errors.Is.
var (
	// ErrNone: the request has no credentials. Status 401.
	ErrNone = errors.New("no credentials")
	// ErrRejected: the credentials are not accepted. Status 401.
	ErrRejected = errors.New("credentials rejected")
	// ErrTooMany: the address has recently sent too many rejected credentials. Status 429.
	ErrTooMany = errors.New("too many rejected credentials")
	// ErrUnavailable: the credentials cannot be verified now. Status 503.
	ErrUnavailable = errors.New("credentials cannot be checked now")
	// ErrForged: the browser sent the credentials by itself, and nothing proves that a page of this server
	// caused the request, which changes something. Status 403.
	ErrForged = errors.New("the request may be forged")
)

// Error is why a request is not authenticated. It never contains a token.
type Error struct {
	kind error
	// Detail for the caller.
	Detail string
	// Remedy for the caller.
	Remedy string
	// RetryAfter is when the caller can retry; 0: only after a change.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s: %s", e.kind, e.Detail, e.Remedy) }

// Unwrap returns the kind of the error.
func (e *Error) Unwrap() error { return e.kind }

// Status returns the HTTP status.
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

// Rejected returns the error for credentials that are not accepted. Neither text may contain parts of the
// request.
func Rejected(detail, remedy string) *Error { return rejected(remedy, "%s", detail) }

// Forged returns the error for a request that a page of another site can have sent.
func Forged(detail, remedy string) *Error {
	return &Error{kind: ErrForged, Detail: detail, Remedy: remedy}
}

// Unavailable returns the error for credentials that cannot be verified now.
func Unavailable(detail, remedy string) *Error { return unavailable(remedy, "%s", detail) }

func rejected(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrRejected, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func unavailable(remedy, format string, args ...any) *Error {
	return &Error{
		kind: ErrUnavailable, Detail: fmt.Sprintf(format, args...), Remedy: remedy, RetryAfter: retryUnavailable,
	}
}
