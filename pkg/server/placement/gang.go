package placement

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// RankOnNode is a rank and the name of its node.
type RankOnNode struct {
	Node string
	Rank
}

// Ranks returns the ranks of a job that are on nodes, by node. Unbound and ended ranks are excluded.
func (s *Snapshot) Ranks(job types.UID) []RankOnNode {
	var all []RankOnNode
	for _, on := range s.Nodes {
		for i := range on.Pods {
			if p := &on.Pods[i]; p.isRank() && p.Job.UID == job {
				all = append(all, RankOnNode{on.Name, p.Rank})
			}
		}
	}
	return all
}

// gang is the key of followers. It has no UID, since a wake-up for another job of the name is harmless.
type gang struct{ namespace, name string }

// followers of gangs.
type followers map[gang]map[chan struct{}]bool

// wake the followers of a job's gang. It never blocks: a channel that is full already wakes its follower.
func (f followers) wake(of Job) {
	for changes := range f[gang{of.Namespace, of.Name}] {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// Follow the ranks of a job by name until closeIt is called: the channel receives a value when a rank is
// bound, changes or ends. It reveals nothing else and checks no rights. The error is ErrUnknownCluster.
func (c *Clusters) Follow(cluster, namespace, name string) (
	changes <-chan struct{}, closeIt func(), err error,
) {
	at, known := c.clusters[cluster]
	if !known {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnknownCluster, cluster)
	}
	changes, closeIt = at.follow(gang{namespace, name})
	return changes, closeIt, nil
}

func (c *cluster) follow(of gang) (<-chan struct{}, func()) {
	changes := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followers[of] == nil {
		c.followers[of] = map[chan struct{}]bool{}
	}
	c.followers[of][changes] = true
	return changes, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.followers[of], changes); len(c.followers[of]) == 0 {
			delete(c.followers, of)
		}
	}
}
