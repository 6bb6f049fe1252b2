package localcluster

import (
	"context"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// StopProcess stops one process by name (for example "vc-scheduler", "kube-scheduler", "kwok") and waits
// for its exit.
func (c *Cluster) StopProcess(ctx context.Context, name string) error {
	p, err := c.process(name)
	if err != nil {
		return err
	}
	// Recorded before the signal, so that the end does not count as a crash.
	p.Stopped = true
	if err := c.record(p); err != nil {
		return err
	}
	return p.Stop(ctx)
}

// StartProcess starts a process that StopProcess stopped, or that died, with the same arguments and ports,
// and waits until it is healthy. It does nothing to one that runs.
func (c *Cluster) StartProcess(ctx context.Context, name string) error {
	p, err := c.process(name)
	if err != nil || p.Alive() {
		return err
	}
	start := func() error { return c.startAndWait(ctx, p) }
	if name != servers.ProcessKWOK {
		return start()
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, 2*process.HealthyWithin)
	defer cancel()
	return objects.RestartKWOK(bounded, client, start)
}

// KillNode makes a fake node dead, as if its power were cut: its heartbeats stop and its pods are no longer
// looked after (a deleted one stays Terminating). It returns at once. The node turns NotReady (status
// Unknown) when Options.NodeGracePeriod is over, and is then tainted unreachable. A pod that is to be lost
// with its node should not be due to end by itself: such a pod still ends in time.
func (c *Cluster) KillNode(ctx context.Context, name string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return objects.Kill(ctx, client, name)
}

// ReviveNode undoes KillNode, and returns when the node can take pods again.
func (c *Cluster) ReviveNode(ctx context.Context, name string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, process.HealthyWithin)
	defer cancel()
	return objects.Revive(ctx, client, name)
}
