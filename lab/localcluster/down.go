package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
)

// Down stops every process of the cluster, waits for their exit and removes its
// files. Calling it again is no error.
func (c *Cluster) Down(ctx context.Context) error {
	if _, err := os.Stat(c.files.lock()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := tryLockFile(c.files.lock())
	if err != nil {
		return fmt.Errorf("another command is at work on %s: %w", c.files.dir, err)
	}
	defer unlock()
	if err := c.shutDown(ctx, true); err != nil {
		return err
	}
	return c.files.remove()
}

// shutDown stops everything: clients first, for an API server drains its
// watches before it ends, and etcd last. A file is removed only when no process
// is left that might write it.
func (c *Cluster) shutDown(ctx context.Context, logs bool) error {
	waves := [][]process{nil, nil, nil}
	for _, p := range c.processes() {
		switch p.Name {
		case processEtcd:
			waves[2] = append(waves[2], p)
		case processAPIServer:
			waves[1] = append(waves[1], p)
		default:
			waves[0] = append(waves[0], p)
		}
	}
	for _, wave := range waves {
		var group errgroup.Group
		for _, p := range wave {
			group.Go(func() error { return stop(ctx, p) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	c.launcher.close()
	c.mu.Lock()
	c.state.Processes = nil
	c.mu.Unlock()
	return c.files.clean(logs)
}
