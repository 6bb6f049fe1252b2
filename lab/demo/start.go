package demo

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// readyWithin is how long a process may take to be ready.
const readyWithin = time.Minute

// ending of a process that is started again.
type ending struct {
	name string
	err  error
}

// keepers supervise the processes next to a cluster.
type keepers struct {
	tasks *sync.WaitGroup
	// endings has an element for each time that one ended and is restarted.
	endings chan<- ending
	// failed has an element when one does not stay up.
	failed chan<- error
}

// startOperator starts the operator under supervision and waits until it is ready.
func (s *session) startOperator(ctx context.Context, k keepers) error {
	address, err := layout.FreeAddress()
	if err != nil {
		return err
	}
	reports, err := layout.FreeAddress()
	if err != nil {
		return err
	}
	if err := s.operator.linkCertificates(s.cluster.ServingFiles()); err != nil {
		return err
	}
	if err := s.operator.configure(s.Scheduler, s.brokered(), address, reports); err != nil {
		return err
	}
	return k.start(ctx, s.operator.process, s.cluster.Kubeconfig(), address, "/readyz")
}

// startServer starts the server under supervision, waits until it has seen the cluster, and returns the link
// to its board.
func (s *session) startServer(ctx context.Context, k keepers) (string, error) {
	address, err := layout.FreeAddress()
	if err != nil {
		return "", err
	}
	health, err := layout.FreeAddress()
	if err != nil {
		return "", err
	}
	if err := s.server.configure(address, health); err != nil {
		return "", err
	}
	if err := s.server.writeKubeconfig(ctx, s.client, s.cluster.RESTConfig()); err != nil {
		return "", err
	}
	if err := s.server.forgetLink(); err != nil {
		return "", err
	}
	if err := k.start(ctx, s.server.process, s.server.kubeconfig(), health, serverReady()...); err != nil {
		return "", err
	}
	return s.server.link()
}

// serverReady returns the probes of a server that has read the cluster and may impersonate its callers.
func serverReady() []string { return []string{"/readyz", "/clusters", "/readyz/acting"} }

// start starts a process under supervision and waits until its probes succeed.
func (k keepers) start(
	ctx context.Context, p process, kubeconfig, probes string, paths ...string,
) error {
	ready, cancel := context.WithTimeoutCause(ctx, readyWithin,
		fmt.Errorf("it was not ready within %s", readyWithin))
	defer cancel()
	ready, giveUp := context.WithCancelCause(ready)
	defer giveUp(nil)
	supervisor := supervisor{
		start:   func() (*exec.Cmd, error) { return p.start(kubeconfig) },
		backoff: standardBackoff(), settled: 10 * time.Second,
		ended: func(err error) {
			select {
			case k.endings <- ending{p.name, err}:
			case <-ctx.Done():
			}
		},
	}
	k.tasks.Go(func() {
		if err := supervisor.run(ctx); err != nil {
			giveUp(err)
			k.failed <- p.withLog(err)
		}
	})
	if err := waitReady(ready, probes, paths...); err != nil {
		return p.withLog(fmt.Errorf("waiting for the %s: %w", p.name, context.Cause(ready)))
	}
	return nil
}

// logLines is how much of a log is shown with an error.
const logLines = 15

// withLog adds the end of the process's log to an error.
func (p process) withLog(err error) error {
	return fmt.Errorf("%w\nThe end of %s:\n%s", err, shortPath(p.log()), tail(p.log(), logLines))
}

// beside returns the processes that a demo runs next to a cluster, clients before servers.
func beside(folder string) []process {
	return []process{newServer(folder, "").process, newOperator(folder, "").process}
}

// StopProcesses stops the processes that a demo left running. Call it before the API server ends, which waits
// for its clients' watches.
func StopProcesses(ctx context.Context, cluster *localcluster.Cluster) error {
	return stopAll(ctx, cluster.LogDir())
}

func stopAll(ctx context.Context, folder string) error {
	for _, p := range beside(folder) {
		if err := p.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Process that a demo left running next to a cluster.
type Process struct {
	Name string
	PID  int
	// Log is the path of its log.
	Log string
}

// Processes that a demo left running next to the cluster.
func Processes(cluster *localcluster.Cluster) ([]Process, error) {
	var all []Process
	for _, p := range beside(cluster.LogDir()) {
		pid, err := p.pid()
		if err != nil {
			return nil, err
		}
		if pid > 0 {
			all = append(all, Process{p.name, pid, p.log()})
		}
	}
	return all, nil
}
