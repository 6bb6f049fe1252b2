package placement

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// RankOnNode is a rank, and the node that it is on.
type RankOnNode struct {
	Node string
	Rank
}

// Ranks of a job that are on nodes, by node. Those that are not bound or have ended are not among them.
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

// gang is what followers ask for: they need not know the UID, since they are only woken up.
type gang struct{ namespace, name string }

// followers of gangs.
type followers map[gang]map[chan struct{}]bool

// wake those who follow the gang of a job. It never blocks: who has not been seen to yet is woken up already.
func (f followers) wake(of Job) {
	for changes := range f[gang{of.Namespace, of.Name}] {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// Follow the ranks of the job of a name until closeIt is called: the channel has something when one of them
// is bound, changes, or has ended. It only wakes up, and asks nobody's rights. The error is
// ErrUnknownCluster.
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
