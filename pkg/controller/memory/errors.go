package memory

import (
	"context"
	"errors"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

var (
	// ErrStale means that a cache is behind the API server: the reconcile must wait until it has caught up.
	ErrStale = errors.New("the cached job is behind the API server")
	// ErrWaiting means that a write must wait. Either an object of ours with the same name is terminating, and
	// its deletion event starts the next reconcile; or a rejected create must not be retried yet, and Plan.Wake
	// starts it.
	ErrWaiting = errors.New("waiting for an earlier object of the same name, or for the time to try again")
)

// IsOnly reports whether every error joined in err satisfies is.
func IsOnly(err error, is func(error) bool) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return is(err)
	}
	for _, e := range joined.Unwrap() {
		if !IsOnly(e, is) {
			return false
		}
	}
	return true
}

// IsConflict reports whether a fresher read resolves err.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || errors.Is(err, ErrStale) }

// WithoutWaiting returns nil for an error that is ErrWaiting alone, and else the error.
func WithoutWaiting(err error) error {
	if err != nil && IsOnly(err, func(e error) bool { return errors.Is(e, ErrWaiting) }) {
		return nil
	}
	return err
}

// IsNamespaceTerminating reports whether a create failed because its namespace is being deleted.
func IsNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// IsGoneOrReplaced reports whether a delete by UID found nothing to delete. The only precondition is the UID,
// so a conflict means that another object has the name.
func IsGoneOrReplaced(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// statusMessage returns the API server's message, without what wraps it.
func statusMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return observation.Line(status.Status().Message) // an admission webhook may have written it
	}
	return observation.Line(err.Error())
}

// ErrorType classifies the error of a reconcile. It is the value of a metric's label.
type ErrorType string

const (
	// ErrorConflict: another client wrote the object first; the next reconcile reads it again.
	ErrorConflict ErrorType = "conflict"
	// ErrorStale: a cache is behind the API server.
	ErrorStale ErrorType = "stale"
	// ErrorRejected: the API server rejects an object of the job: a quota, an admission policy, a webhook.
	ErrorRejected ErrorType = "rejected"
	// errorTerminating: the job's namespace is being deleted.
	errorTerminating ErrorType = "terminating"
	// ErrorAPI: the API server does not answer, or answers with another error.
	ErrorAPI ErrorType = "api"
	// ErrorInternal: anything else.
	ErrorInternal ErrorType = "internal"
)

var ErrorTypes = []ErrorType{
	ErrorConflict, ErrorStale, ErrorRejected, errorTerminating, ErrorAPI, ErrorInternal,
}

const ErrorTypesHelp = "Reconciles with an error, by type: conflict and stale resolve on retry, " +
	"rejected becomes the job's blocker, terminating ends with the namespace, api comes from the API server, " +
	"internal is a bug."

// TypesOf lists the types of the errors joined in err, each once. A canceled context, as at the end of the
// operator, has no type.
func TypesOf(err error) []ErrorType {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var types []ErrorType
		for _, e := range joined.Unwrap() {
			types = append(types, TypesOf(e)...)
		}
		slices.Sort(types)
		return slices.Compact(types)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return []ErrorType{typeOf(err)}
}

func typeOf(err error) ErrorType {
	var rejected *Rejection
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case errors.As(err, &rejected):
		return ErrorRejected
	case errors.Is(err, ErrStale):
		return ErrorStale
	case apierrors.IsConflict(err):
		return ErrorConflict
	case IsNamespaceTerminating(err):
		return errorTerminating
	case errors.As(err, &status), errors.As(err, &network):
		return ErrorAPI
	}
	return ErrorInternal
}
