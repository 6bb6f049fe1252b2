package controller

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
	// errStale means that a cache is behind the API server: nothing may be done until it has caught up.
	errStale = errors.New("the cached job is behind the API server")
	// errWaiting means that a write must wait: either an object of ours with the same name is still terminating,
	// and its deletion event starts the next reconcile, or a rejected create may not be retried yet, and
	// Plan.Wake does.
	errWaiting = errors.New("waiting for an earlier object of the same name, or for the time to try again")
)

// isOnly reports whether every error joined in err satisfies is.
func isOnly(err error, is func(error) bool) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return is(err)
	}
	for _, e := range joined.Unwrap() {
		if !isOnly(e, is) {
			return false
		}
	}
	return true
}

// isConflict reports whether a fresher read resolves err.
func isConflict(err error) bool { return apierrors.IsConflict(err) || errors.Is(err, errStale) }

// withoutWaiting returns nil for an error that is errWaiting alone, and else the error.
func withoutWaiting(err error) error {
	if err != nil && isOnly(err, func(e error) bool { return errors.Is(e, errWaiting) }) {
		return nil
	}
	return err
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isGoneOrReplaced reports whether a delete by UID found nothing to delete. The only precondition is the UID,
// so a conflict means that another object has the name.
func isGoneOrReplaced(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// statusMessage returns the API server's own sentence, without the wrapping.
func statusMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return observation.Line(status.Status().Message) // an admission webhook may have written it
	}
	return observation.Line(err.Error())
}

// errorType is what kind of error ended a reconcile, or what it did: a label, of which there are no others.
type errorType string

const (
	// errorConflict: somebody else wrote the object first; the next reconcile reads it anew.
	errorConflict errorType = "conflict"
	// errorStale: a cache is behind the API server.
	errorStale errorType = "stale"
	// errorRejected: the API server rejects an object of the job: a quota, an admission policy, a webhook.
	errorRejected errorType = "rejected"
	// errorTerminating: the job's namespace is being deleted.
	errorTerminating errorType = "terminating"
	// errorAPI: the API server does not answer, or answers with another error.
	errorAPI errorType = "api"
	// errorInternal: anything else.
	errorInternal errorType = "internal"
)

var errorTypes = []errorType{
	errorConflict, errorStale, errorRejected, errorTerminating, errorAPI, errorInternal,
}

const errorTypesHelp = "Reconciles with an error, by type: conflict and stale resolve on retry, " +
	"rejected becomes the job's blocker, terminating ends with the namespace, api comes from the API server, " +
	"internal is a bug."

// typesOf lists the types of the errors joined in err, each once. That the operator is told to end is none.
func typesOf(err error) []errorType {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var types []errorType
		for _, e := range joined.Unwrap() {
			types = append(types, typesOf(e)...)
		}
		slices.Sort(types)
		return slices.Compact(types)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return []errorType{typeOf(err)}
}

func typeOf(err error) errorType {
	var rejected *rejection
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case errors.As(err, &rejected):
		return errorRejected
	case errors.Is(err, errStale):
		return errorStale
	case apierrors.IsConflict(err):
		return errorConflict
	case isNamespaceTerminating(err):
		return errorTerminating
	case errors.As(err, &status), errors.As(err, &network):
		return errorAPI
	}
	return errorInternal
}
