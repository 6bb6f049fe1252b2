package main

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// clusterError is what the cluster answers, in kubectl's words, and what to do about it.
type clusterError struct {
	err    error
	remedy string
}

func (e clusterError) Unwrap() error { return e.err }

func (e clusterError) Error() string {
	text := fmt.Sprint("error: ", e.err)
	var status apierrors.APIStatus
	if errors.As(e.err, &status) {
		if reason := status.Status().Reason; reason != "" {
			text = fmt.Sprintf("Error from server (%s): %s", reason, status.Status().Message)
		}
	}
	return text + "\n" + e.remedy
}

// failed says what to do when a request about jobs of a namespace has failed.
func failed(err error, verb, namespace string) error {
	return codedError{exitError, clusterError{err, remedy(err, verb, namespace)}}
}

func remedy(err error, verb, namespace string) string {
	switch {
	case notServed(err):
		return "The cluster does not serve " + v1alpha1.GroupVersion.String() + ": the operator is not installed " +
			"there. Choose another cluster with --context, or install it."
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("See which there are: kubectl get trainingjobs -n %s; in all namespaces, with -A.",
			namespace)
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("Ask an admin of the cluster for the right to %s trainingjobs in namespace %s.", verb,
			namespace)
	case apierrors.IsUnauthorized(err):
		return "Log in to the cluster again, or choose another user with --user or --context."
	}
	return "See whether the cluster answers: kubectl cluster-info. Choose another with --context."
}

// notServed reports whether the cluster does not have the kind.
func notServed(err error) bool { return meta.IsNoMatchError(err) }
