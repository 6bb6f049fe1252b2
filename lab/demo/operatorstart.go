package demo

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// startOperator starts the operator under supervision and waits until it is ready.
func (s *session) startOperator(
	ctx context.Context, tasks *sync.WaitGroup, restarts, failed chan<- error,
) error {
	const within = time.Minute
	address, err := freeAddress()
	if err != nil {
		return err
	}
	reports, err := freeAddress()
	if err != nil {
		return err
	}
	if err := s.operator.linkCertificates(s.cluster.ServingFiles()); err != nil {
		return err
	}
	if err := s.operator.configure(s.Scheduler, address, reports); err != nil {
		return err
	}
	ready, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it was not ready within %s", within))
	defer cancel()
	ready, giveUp := context.WithCancelCause(ready)
	defer giveUp(nil)
	supervisor := supervisor{
		start:   func() (*exec.Cmd, error) { return s.operator.start(s.cluster.Kubeconfig()) },
		backoff: standardBackoff(), settled: 10 * time.Second,
		ended: func(err error) {
			select {
			case restarts <- err:
			case <-ctx.Done():
			}
		},
	}
	tasks.Go(func() {
		if err := supervisor.run(ctx); err != nil {
			giveUp(err)
			failed <- err
		}
	})
	if err := waitReady(ready, address); err != nil {
		return s.withLog(fmt.Errorf("waiting for the operator: %w", context.Cause(ready)))
	}
	return nil
}

// logLines is how much of the operator's log is shown with an error.
const logLines = 15

// withLog adds the end of the operator's log to an error.
func (s *session) withLog(err error) error {
	return fmt.Errorf("%w\nThe end of %s:\n%s", err, shortPath(s.operator.log()),
		tail(s.operator.log(), logLines))
}

// StopOperator ends the operator that a demo left running beside the cluster, if there is one. Call it
// before the API server ends, which waits for its clients' watches.
func StopOperator(ctx context.Context, cluster *localcluster.Cluster) error {
	return operator{folder: cluster.LogDir()}.stop(ctx)
}

// OperatorPID is the pid of the operator that a demo left running beside the cluster, 0 if there is none.
func OperatorPID(cluster *localcluster.Cluster) (int, error) {
	return operator{folder: cluster.LogDir()}.pid()
}
