package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Order is how victims are chosen.
type Order string

// Orders of the schedulers, from their sources.
const (
	// Random: any gangs of lower value until the preemptor fits.
	Random Order = "random"
	// Youngest first: the least valuable, then who was admitted last, until the gang fits; those that are not
	// needed are spared in the reverse order.
	Youngest Order = "youngest"
	// Kueue's is the same by its quota, which knows no nodes (pkg/scheduler/preemption v0.19.2:
	// CandidatesOrdering, fillBackWorkloads). If the nodes then have no capacity, the scheduler that binds
	// the gang preempts, too: Native, with the operator's schedulers.kueue.binder "native".
	Kueue Order = "kueue"
	// Native is Kubernetes 1.37's for gangs: the preemptor is placed as if there were no gangs of lower value.
	// The gangs in its way there are victims, except those that fit next to it, the largest and oldest first
	// (pkg/scheduler/framework/preemption: selectVictimsOnDomain, MoreImportantVictim). Of equally good nodes it
	// takes the first; it chooses at random only with extenders (schedule_one.go, Randomizer).
	Native Order = "native"
	// Volcano's: for each rank the first node on which lesser pods are enough, of these those of the gangs with
	// the most GPUs first, then of the youngest (pkg/scheduler/actions/preempt v1.14.1, normalPreempt;
	// BuildVictimsPriorityQueue with the plugin drf). Nodes that are full score alike, and keep the order in
	// which they were found: that of the cluster, but for the race of those that look at them at the same time.
	Volcano Order = "volcano"
	// Coscheduling's is kube-scheduler's for single pods: for each rank the node with the fewest victims, then
	// the one whose victims started last, then any (pickOneNodeForPreemption). On each node those are spared
	// that fit next to the rank, the oldest first (SelectVictimsOnNode in scheduler-plugins v0.34.7).
	Coscheduling Order = "coscheduling"
)

// choose victims among runs of lower value, for a gang that does not fit; nil where they are not enough.
func (o Order) choose(free nodes, lesser []*run, g *Job, r *rand.Rand) []*run {
	switch o {
	case Random:
		return untilItFits(free, shuffled(lesser, r), g)
	case Youngest:
		return untilItFits(free, youngest(lesser), g)
	case Kueue:
		return byQuota(free, lesser, g)
	case Native:
		return inTheWay(free, lesser, g)
	case Volcano:
		return rankByRank(free, lesser, g, r, (*board).firstNode)
	}
	return rankByRank(free, lesser, g, r, (*board).fewestVictims)
}

func shuffled(list []*run, r *rand.Rand) []*run {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	slices.SortStableFunc(list, func(a, b *run) int { return cmp.Compare(a.Value, b.Value) })
	return list
}

func youngest(list []*run) []*run {
	return slices.SortedFunc(slices.Values(list), func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(b.began, a.began), cmp.Compare(a.ID, b.ID))
	})
}

// untilItFits takes one after the other, and gives back in reverse who is not needed.
func untilItFits(free nodes, list []*run, g *Job) []*run {
	free = slices.Clone(free)
	var taken []*run
	for _, v := range list {
		if free.fits(g.Ranks, g.GPUs) {
			break
		}
		free.add(v.on, v.GPUs, 1)
		taken = append(taken, v)
	}
	if !free.fits(g.Ranks, g.GPUs) {
		return nil
	}
	for i := len(taken) - 2; i >= 0; i-- {
		free.add(taken[i].on, taken[i].GPUs, -1)
		if free.fits(g.Ranks, g.GPUs) {
			taken = slices.Delete(taken, i, i+1)
			continue
		}
		free.add(taken[i].on, taken[i].GPUs, 1)
	}
	return taken
}

// byQuota takes the youngest until the sum of all GPUs is enough, and then who is in the way on the nodes.
func byQuota(free nodes, lesser []*run, g *Job) []*run {
	quota := nodes{0}
	for _, n := range free {
		quota[0] += n
	}
	var taken []*run
	if !quota.fits(g.Ranks, g.GPUs) {
		var pooled []*run
		for _, v := range youngest(lesser) {
			pooled = append(pooled, &run{Job: v.Job, on: map[int]int{0: v.Ranks}})
		}
		for _, p := range untilItFits(quota, pooled, g) {
			i := slices.IndexFunc(lesser, func(v *run) bool { return v.Job == p.Job })
			taken = append(taken, lesser[i])
		}
		if taken == nil {
			return nil
		}
	}
	free = slices.Clone(free)
	for _, v := range taken {
		free.add(v.on, v.GPUs, 1)
	}
	if free.fits(g.Ranks, g.GPUs) {
		return taken
	}
	more := inTheWay(free, slices.DeleteFunc(slices.Clone(lesser), func(v *run) bool {
		return slices.Contains(taken, v)
	}), g)
	if more == nil {
		return nil
	}
	return append(taken, more...)
}

// inTheWay places the gang on the emptiest nodes, and spares the gangs that fit next to it.
func inTheWay(free nodes, lesser []*run, g *Job) []*run {
	free = slices.Clone(free)
	for _, v := range lesser {
		free.add(v.on, v.GPUs, 1)
	}
	order := make([]int, len(free))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(free[b], free[a]) })
	left := g.Ranks
	for _, i := range order { // spread, as the default score of free resources has it
		if left > 0 && free[i] >= g.GPUs {
			free[i] -= g.GPUs
			left--
		}
	}
	for _, i := range order {
		for left > 0 && free[i] >= g.GPUs {
			free[i] -= g.GPUs
			left--
		}
	}
	if left > 0 {
		return nil
	}
	important := slices.SortedFunc(slices.Values(lesser), func(a, b *run) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(b.Ranks, a.Ranks), cmp.Compare(a.began, b.began),
			cmp.Compare(a.ID, b.ID))
	})
	var victims []*run
	for _, v := range important {
		if beside(free, v) {
			free.add(v.on, v.GPUs, -1)
		} else {
			victims = append(victims, v)
		}
	}
	return victims
}

func beside(free nodes, v *run) bool {
	for i, ranks := range v.on {
		if free[i] < int64(ranks)*v.GPUs {
			return false
		}
	}
	return true
}
