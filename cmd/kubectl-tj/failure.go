package main

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// clusterError is an error of the cluster, in kubectl's format, with a remedy.
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

// failed adds a remedy to the error of a request for jobs in a namespace.
func failed(err error, verb, namespace string) error {
	return codedError{exitError, clusterError{err, remedy(err, verb, namespace)}}
}

func remedy(err error, verb, namespace string) string {
	switch {
	case notServed(err):
		return "The cluster does not serve " + v1alpha1.GroupVersion.String() + ": the operator is not " +
			"installed. Install it, or choose another cluster with --context."
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("List the jobs: kubectl get trainingjobs -n %s (all namespaces: -A).",
			namespace)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "Change what the error names. If it names a field of this plugin, the operator is older than the " +
			"plugin."
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("Ask an admin of the cluster for the right to %s trainingjobs in namespace %s.", verb,
			namespace)
	case apierrors.IsUnauthorized(err):
		return "Log in to the cluster again, or choose another user with --user or --context."
	}
	return "Check that the cluster responds: kubectl cluster-info. Choose another one with --context."
}

// notServed reports whether the cluster does not have the kind.
func notServed(err error) bool { return meta.IsNoMatchError(err) }
