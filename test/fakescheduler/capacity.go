package fakescheduler

import (
	"cmp"
	"slices"
)

// capacity is what the nodes have left. A node's free GPUs are negative where a preemptor waits for
// the GPUs of pods that are still ending.
type capacity struct {
	nodes []string
	free  map[string]int64
	// ending GPUs belong to pods with a deletion timestamp.
	ending map[string]int64
}

func newCapacity(s Snapshot, b Behavior) capacity {
	c := capacity{free: map[string]int64{}, ending: map[string]int64{}}
	for _, n := range s.Nodes {
		c.nodes = append(c.nodes, n.Name)
		c.free[n.Name] = n.GPUs
	}
	slices.Sort(c.nodes)
	for _, p := range s.Pods {
		if p.Node == "" || p.ended() && !b.is(NeverReleases) {
			continue
		}
		c.free[p.Node] -= p.GPUs
		if p.Deleting {
			c.ending[p.Node] += p.GPUs
		}
	}
	if b.is(NeverReleases) {
		for _, p := range s.Gone {
			c.free[p.Node] -= p.GPUs
		}
	}
	return c
}

// now returns the free GPUs of a node.
func (c capacity) now(node string) int64 { return c.free[node] }

// later returns the free GPUs of a node once the pods that are ending are gone.
func (c capacity) later(node string) int64 { return c.free[node] + c.ending[node] }

// total sums over the nodes; a negative count adds nothing.
func (c capacity) total(of func(string) int64) int64 {
	var n int64
	for _, node := range c.nodes {
		n += max(0, of(node))
	}
	return n
}

// place puts pods onto nodes, the largest first, and reports whether all of them fit. With part set it
// places those that fit.
func (c capacity) place(pods []Pod, of func(string) int64, part bool) ([]Bind, bool) {
	left := map[string]int64{}
	for _, node := range c.nodes {
		left[node] = of(node)
	}
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b Pod) int { return cmp.Compare(b.GPUs, a.GPUs) })
	var binds []Bind
	for _, p := range pods {
		i := slices.IndexFunc(c.nodes, func(node string) bool { return p.GPUs == 0 || left[node] >= p.GPUs })
		if i < 0 {
			if part {
				continue
			}
			return nil, false
		}
		left[c.nodes[i]] -= p.GPUs
		binds = append(binds, Bind{p, c.nodes[i]})
	}
	return binds, len(binds) == len(pods)
}

func (c capacity) take(binds []Bind) {
	for _, b := range binds {
		c.free[b.Node] -= b.Pod.GPUs
	}
}

// reserve GPUs for ranks that do not exist yet: free ones first, then those of pods that are ending.
func (c capacity) reserve(amount int64) {
	for _, of := range []func(string) int64{c.now, c.later} {
		for _, node := range c.nodes {
			n := min(amount, max(0, of(node)))
			c.free[node] -= n
			amount -= n
		}
	}
}
