package fakescheduler

import (
	"cmp"
	"slices"
)

// room is what the nodes have left. Free may fall below zero: then somebody waits there for what is still coming.
type room struct {
	nodes []string
	free  map[string]int64
	// coming is held by pods that have been told to end.
	coming map[string]int64
}

func newRoom(s Snapshot, h Habits) room {
	r := room{free: map[string]int64{}, coming: map[string]int64{}}
	for _, n := range s.Nodes {
		r.nodes = append(r.nodes, n.Name)
		r.free[n.Name] = n.GPUs
	}
	slices.Sort(r.nodes)
	for _, p := range s.Pods {
		if p.Node == "" || p.ended() && !h.is(NeverReleases) {
			continue
		}
		r.free[p.Node] -= p.GPUs
		if p.Deleting {
			r.coming[p.Node] += p.GPUs
		}
	}
	if h.is(NeverReleases) {
		for _, p := range s.Gone {
			r.free[p.Node] -= p.GPUs
		}
	}
	return r
}

func (r room) now(node string) int64   { return r.free[node] }
func (r room) later(node string) int64 { return r.free[node] + r.coming[node] }

// total over the nodes; those where somebody already waits have none.
func (r room) total(of func(string) int64) int64 {
	var n int64
	for _, node := range r.nodes {
		n += max(0, of(node))
	}
	return n
}

// place pods onto nodes, largest first, or say that not all of them fit. With part it places what fits.
func (r room) place(pods []Pod, of func(string) int64, part bool) ([]Bind, bool) {
	left := map[string]int64{}
	for _, node := range r.nodes {
		left[node] = of(node)
	}
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b Pod) int { return cmp.Compare(b.GPUs, a.GPUs) })
	var binds []Bind
	for _, p := range pods {
		i := slices.IndexFunc(r.nodes, func(node string) bool { return p.GPUs == 0 || left[node] >= p.GPUs })
		if i < 0 {
			if part {
				continue
			}
			return nil, false
		}
		left[r.nodes[i]] -= p.GPUs
		binds = append(binds, Bind{p, r.nodes[i]})
	}
	return binds, len(binds) == len(pods)
}

func (r room) take(binds []Bind) {
	for _, b := range binds {
		r.free[b.Node] -= b.Pod.GPUs
	}
}

// reserve an amount for ranks that do not exist yet: free GPUs first, then those that are coming.
func (r room) reserve(amount int64) {
	for _, of := range []func(string) int64{r.now, r.later} {
		for _, node := range r.nodes {
			n := min(amount, max(0, of(node)))
			r.free[node] -= n
			amount -= n
		}
	}
}
