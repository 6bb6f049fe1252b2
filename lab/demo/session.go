package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// session is one story on one cluster.
type session struct {
	Options
	root     string
	cluster  *localcluster.Cluster
	operator operator
	client   client.WithWatch
}

func (s *session) storyFolder() string { return filepath.Join(s.root, storyFolder, s.Scheduler) }

// prepare installs what the operator and the story need.
func (s *session) prepare(ctx context.Context) error {
	fmt.Fprintf(s.Progress, "Installing the CRD, starting the operator, emptying namespace %s.\n", Namespace)
	// The operator of an earlier demo may be older than the binary, and has another configuration.
	if err := s.operator.stop(ctx); err != nil {
		return err
	}
	// A cluster that was up may have an older CRD.
	if err := s.cluster.InstallCRDs(ctx, filepath.Join(s.root, crdFolder)); err != nil {
		return fmt.Errorf("installing the operator's CRD: %w", err)
	}
	c, err := newClient(s.cluster.RESTConfig())
	if err != nil {
		return err
	}
	s.client = c
	return applyAll(ctx, c, filepath.Join(s.root, admissionFolder), "")
}
