package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// Down stops every process of the cluster, waits for their exit and removes the cluster's files. Calling it
// again is no error. When ctx has ended, or ends, processes are killed that have not ended by then.
func (c *Cluster) Down(ctx context.Context) error {
	if _, err := os.Stat(c.files.Lock()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := filelock.Try(c.files.Lock())
	if err != nil {
		return fmt.Errorf("another command is at work on %s: %w", c.files.Dir, err)
	}
	defer lock.Close()
	if err := c.shutDown(ctx, true); err != nil {
		return err
	}
	return c.files.Remove()
}

// shutDown stops everything: clients before the API server, which drains its watches before it ends, and etcd
// last. Files are removed only when no process is left that might write them.
func (c *Cluster) shutDown(ctx context.Context, logs bool) error {
	waves := make([][]process.Process, 3)
	for _, p := range c.processes() {
		switch p.Name {
		case servers.ProcessEtcd:
			waves[2] = append(waves[2], p)
		case servers.ProcessAPIServer:
			waves[1] = append(waves[1], p)
		default:
			waves[0] = append(waves[0], p)
		}
	}
	for _, wave := range waves {
		var group errgroup.Group
		for _, p := range wave {
			group.Go(func() error { return p.Stop(ctx) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	c.launcher.Close()
	c.mu.Lock()
	c.state.Processes = nil
	c.mu.Unlock()
	return c.files.Clean(logs)
}
