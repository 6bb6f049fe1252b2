package access

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What an Error is about, for errors.Is.
var (
	// ErrUnknownCluster: no cluster of that name is configured. It is answered with 404.
	ErrUnknownCluster = errors.New("unknown cluster")
	// ErrRefused: the server acts for no caller of that name. It is answered with 403.
	ErrRefused = errors.New("the server does not act for the caller")
	// ErrInsufficient: the server's own rights do not suffice, or are wider than they may be. It is answered
	// with 503.
	ErrInsufficient = errors.New("the server's rights are not as they must be")
)

// Error says why the server does not act for a caller.
type Error struct {
	kind error
	// Detail is what is wrong, for the caller.
	Detail string
	// Remedy is what the caller or an admin can do.
	Remedy string
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s: %s", e.kind, e.Detail, e.Remedy) }

// Unwrap returns what the error is about.
func (e *Error) Unwrap() error { return e.kind }

// Status is the HTTP status that answers the request.
func (e *Error) Status() int {
	switch {
	case errors.Is(e.kind, ErrUnknownCluster):
		return http.StatusNotFound
	case errors.Is(e.kind, ErrRefused):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

// Problem is what the request is answered with (pkg/server/problem).
func (e *Error) Problem() (status int, detail, remedy string, retryAfter time.Duration) {
	return e.Status(), e.Detail, e.Remedy, 0
}

func refused(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrRefused, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func insufficient(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrInsufficient, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}
