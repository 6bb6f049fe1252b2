package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// Board restarts the server that a demo has configured for the cluster, and returns a new link that logs a
// browser in. Existing logins stay valid.
func Board(ctx context.Context, cluster *localcluster.Cluster, binary string) (string, error) {
	lock, err := filelock.Try(demoLock(cluster))
	if errors.Is(err, filelock.ErrLocked) {
		return "", errors.New("a demo runs on this cluster: use the link that it printed")
	}
	if err != nil {
		return "", fmt.Errorf("keeping demos off the cluster: %w", err)
	}
	defer lock.Close()
	s := newServer(cluster.LogDir(), binary)
	configured, err := s.configured()
	if err != nil {
		return "", err
	}
	if err := s.stop(ctx); err != nil {
		return "", err
	}
	c, err := newClient(cluster.RESTConfig())
	if err != nil {
		return "", err
	}
	if err := s.writeKubeconfig(ctx, c, cluster.RESTConfig()); err != nil {
		return "", err
	}
	if err := s.forgetLink(); err != nil {
		return "", err
	}
	cmd, err := s.start(s.kubeconfig())
	if err != nil {
		return "", err
	}
	ready, giveUp := context.WithTimeoutCause(ctx, readyWithin,
		fmt.Errorf("it was not ready within %s", readyWithin))
	defer giveUp()
	ready, ended := context.WithCancelCause(ready)
	defer ended(nil)
	go func() { ended(exitError(cmd.Wait())) }()
	if err := waitReady(ready, configured.Health.BindAddress, serverReady()...); err != nil {
		return "", s.withLog(fmt.Errorf("waiting for the server: %w", context.Cause(ready)))
	}
	return s.link()
}

// demoLock is held by the demo that plays on a cluster.
func demoLock(cluster *localcluster.Cluster) string {
	return filepath.Join(cluster.LogDir(), "demo.lock")
}
