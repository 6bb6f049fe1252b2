package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// restConfig has no client-side rate limit: the API server's own flow control is fairer, and a gang of
// hundreds of ranks must not be created at 20 pods a second. Without a content type controller-runtime
// uses protobuf for the built-in kinds.
func restConfig(userAgent string) (*rest.Config, error) {
	c, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	c.QPS, c.Burst, c.RateLimiter = -1, 0, nil
	c.UserAgent = userAgent
	return c, nil
}

// newScheme knows every kind that the operator reads or writes.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	err := errors.Join(
		clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s),
		volcano.AddToScheme(s), coscheduling.AddToScheme(s), kueue.AddToScheme(s),
	)
	if err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	return s, nil
}
