package shield

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Error is why a request is rejected.
type Error struct {
	// Status of the response.
	Status int
	// Detail and Remedy for the caller.
	Detail, Remedy string
	// RetryAfter is when the caller can retry; 0: only after a change.
	RetryAfter time.Duration

	reason string // for the metrics
}

func (e *Error) Error() string { return e.Detail + ": " + e.Remedy }

// Problem returns the parts of the response (pkg/server/problem).
func (e *Error) Problem() (status int, detail, remedy string, retryAfter time.Duration) {
	return e.Status, e.Detail, e.Remedy, e.RetryAfter
}

// WriteProblem writes a response of problem+json. Field is empty if no field of the body is wrong.
type WriteProblem func(w http.ResponseWriter, r *http.Request, status int, detail, field, remedy string)

// Reasons of rejections, for the metrics.
const (
	reasonAddress  = "address_rate"
	reasonCaller   = "caller_rate"
	reasonBusy     = "busy"
	reasonMany     = "caller_requests"
	reasonOpen     = "open_requests"
	reasonStreams  = "streams"
	reasonSize     = "size"
	reasonOrigin   = "origin"
	reasonDeadline = "deadline"
)

func tooLarge(status int, remedy, format string, args ...any) *Error {
	return &Error{Status: status, Detail: fmt.Sprintf(format, args...), Remedy: remedy, reason: reasonSize}
}

func tooMany(reason, remedy, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusTooManyRequests, Detail: fmt.Sprintf(format, args...), Remedy: remedy,
		RetryAfter: time.Second, reason: reason,
	}
}

// reject responds to a request that is not handled.
func (s *Shield) reject(w http.ResponseWriter, r *http.Request, e *Error) {
	s.metrics.rejected.WithLabelValues(e.reason).Inc()
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	s.write(w, r, e.Status, e.Detail, "", e.Remedy)
}
