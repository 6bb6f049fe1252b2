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
	server   server
	client   client.WithWatch
}

func (s *session) storyFolder() string { return filepath.Join(s.root, storyFolder, s.Scheduler) }

// prepare installs what the operator and the story need.
func (s *session) prepare(ctx context.Context) error {
	fmt.Fprintf(s.Progress, "Installing the CRD, starting operator and server, emptying namespace %s.\n",
		Namespace)
	// Processes of an earlier demo can have older binaries and another configuration.
	if err := stopAll(ctx, s.cluster.LogDir()); err != nil {
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
	if err := s.server.install(ctx, c, s.root); err != nil {
		return err
	}
	return applyAll(ctx, c, filepath.Join(s.root, admissionFolder), "")
}
