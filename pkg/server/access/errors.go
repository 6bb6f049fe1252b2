package access

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kinds of an Error, for errors.Is.
var (
	// ErrUnknownCluster: no cluster with this name is configured. Status 404.
	ErrUnknownCluster = errors.New("unknown cluster")
	// ErrRefused: the server does not act for users with this name. Status 403.
	ErrRefused = errors.New("the server does not act for the caller")
	// ErrTooMany: the request concerns too many namespaces for reviews of the caller's rights. Status 403.
	ErrTooMany = errors.New("too many namespaces")
	// ErrInsufficient: the server lacks a right, or has a wider one than is allowed. Status 503.
	ErrInsufficient = errors.New("the server has wrong rights")
)

// Error is why the server does not act for a caller.
type Error struct {
	kind error
	// Detail for the caller.
	Detail string
	// Remedy for the caller or an admin.
	Remedy string
}

func (e *Error) Error() string { return fmt.Sprintf("%v: %s: %s", e.kind, e.Detail, e.Remedy) }

// Unwrap returns the kind of the error.
func (e *Error) Unwrap() error { return e.kind }

// Status returns the HTTP status.
func (e *Error) Status() int {
	switch {
	case errors.Is(e.kind, ErrUnknownCluster):
		return http.StatusNotFound
	case errors.Is(e.kind, ErrRefused), errors.Is(e.kind, ErrTooMany):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

// Problem returns the parts of the response (pkg/server/problem).
func (e *Error) Problem() (status int, detail, remedy string, retryAfter time.Duration) {
	return e.Status(), e.Detail, e.Remedy, 0
}

func refused(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrRefused, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func insufficient(remedy, format string, args ...any) *Error {
	return &Error{kind: ErrInsufficient, Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}
