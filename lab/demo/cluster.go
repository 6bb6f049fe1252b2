package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// clusterSource gives a demo its cluster: one that is up, or a new one.
type clusterSource struct {
	scheduler string
	progress  io.Writer
	// up brings a cluster up, or returns the one that is up and localcluster.ErrRunning.
	up func(context.Context) (*localcluster.Cluster, error)
	// serves reports whether a cluster that is up runs the scheduler.
	serves func(*localcluster.Cluster) (bool, error)
}

// demoCluster is a cluster for one demo alone.
type demoCluster struct {
	*localcluster.Cluster
	// lock keeps other demos off the cluster.
	lock *os.File
	// found is true when the cluster was up before the demo, which then leaves it up.
	found bool
}

// get returns the cluster. If a cluster runs without the scheduler, get replaces one of an earlier demo and
// returns an error for any other.
func (s clusterSource) get(ctx context.Context) (demoCluster, error) {
	c, err := s.bringUp(ctx)
	if err != nil || !c.found {
		return c, err
	}
	serves, err := s.serves(c.Cluster)
	switch {
	case err != nil:
		return demoCluster{}, errors.Join(err, c.lock.Close())
	case serves:
		fmt.Fprintf(s.progress, "The cluster in %s is up; the demo uses it.\n", shortPath(c.Dir()))
		return c, nil
	case c.Creator() != clusterCreator:
		err := fmt.Errorf("the cluster in %s, which no demo created, runs without scheduler %s%s",
			shortPath(c.Dir()), s.scheduler, remedies(c.Dir(), s.scheduler))
		return demoCluster{}, errors.Join(err, c.lock.Close())
	}
	return s.replace(ctx, c)
}

// bringUp returns the cluster with the lock of the demo that plays on it.
func (s clusterSource) bringUp(ctx context.Context) (demoCluster, error) {
	cluster, err := s.up(ctx)
	found := errors.Is(err, localcluster.ErrRunning)
	if err != nil && !found {
		return demoCluster{}, fmt.Errorf("bringing the cluster up: %w", err)
	}
	lock, err := filelock.Try(demoLock(cluster))
	if err != nil {
		return demoCluster{}, fmt.Errorf("another demo plays on this cluster: %w", err)
	}
	return demoCluster{cluster, lock, found}, nil
}

// replace stops the cluster of an earlier demo and creates another. It holds the lock throughout, so that no
// other demo plays on it.
func (s clusterSource) replace(ctx context.Context, old demoCluster) (demoCluster, error) {
	defer old.lock.Close()
	fmt.Fprintf(s.progress,
		"The cluster in %s, which an earlier demo left, runs without scheduler %s: "+
			"ending it and bringing up another.\n",
		shortPath(old.Dir()), s.scheduler)
	if err := StopProcesses(ctx, old.Cluster); err != nil {
		return demoCluster{}, err
	}
	if err := old.Down(ctx); err != nil {
		return demoCluster{}, fmt.Errorf("ending the cluster of an earlier demo: %w", err)
	}
	c, err := s.bringUp(ctx)
	if err == nil && c.found {
		err := fmt.Errorf("another command has brought up a cluster in %s", shortPath(c.Dir()))
		return demoCluster{}, errors.Join(err, c.lock.Close())
	}
	return c, err
}
