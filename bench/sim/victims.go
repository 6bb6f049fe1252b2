package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Order is how victims are chosen.
type Order string

// Orders of the schedulers, from their sources.
const (
	// Random: any gangs of lower value until the preemptor fits.
	Random Order = "random"
	// Youngest is Kueue's: least valuable first, then who was admitted last; those that are not needed are
	// spared in the reverse order (pkg/scheduler/preemption v0.19.1: CandidatesOrdering, fillBackWorkloads).
	Youngest Order = "youngest"
	// Native is Kubernetes 1.37's for gangs: the preemptor is placed as if there were nobody of lower value, and
	// who is in its way there is taken, but for those that fit beside it, the largest and oldest first
	// (pkg/scheduler/framework/preemption: selectVictimsOnDomain, MoreImportantVictim).
	Native Order = "native"
	// Volcano's: for each rank the first node by score on which lesser pods are enough, of these the least
	// valuable first (pkg/scheduler/actions/preempt v1.14.1, normalPreempt).
	Volcano Order = "volcano"
	// Coscheduling's is kube-scheduler's for single pods: for each rank the node with the fewest victims, then
	// the one whose victims started last (pickOneNodeForPreemption).
	Coscheduling Order = "coscheduling"
)

// choose victims among runs of lower value, for a gang that does not fit; nil where they are not enough.
func (o Order) choose(free nodes, lesser []*run, g *Job, r *rand.Rand) []*run {
	switch o {
	case Random:
		return untilItFits(free, shuffled(lesser, r), g)
	case Youngest:
		return untilItFits(free, youngest(lesser), g)
	case Native:
		return inTheWay(free, lesser, g)
	case Volcano:
		return nodeByNode(free, lesser, g, r.Perm(len(free)))
	}
	return nodeByNode(free, lesser, g, nil)
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

// inTheWay places the gang on the emptiest nodes, and spares who fits beside it.
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

// nodeByNode takes single ranks, and with each its whole gang: on the first node of an order where they are
// enough; without an order on the node that needs fewest.
func nodeByNode(free nodes, lesser []*run, g *Job, order []int) []*run {
	free = slices.Clone(free)
	on := map[int][]*run{}
	for _, v := range youngest(lesser) {
		for i := range v.on {
			on[i] = append(on[i], v)
		}
	}
	gone := map[*run]bool{}
	var victims []*run
	for range g.Ranks {
		node, chosen := pick(free, on, gone, g.GPUs, order)
		if node < 0 {
			return nil
		}
		for _, v := range chosen {
			gone[v] = true
			victims = append(victims, v)
			free.add(v.on, v.GPUs, 1)
		}
		free[node] -= g.GPUs
	}
	return victims
}

// pick a node for one rank, and whom it takes there; -1 where there is none. A node with room comes first.
func pick(free nodes, on map[int][]*run, gone map[*run]bool, gpus int64, order []int) (int, []*run) {
	if i := slices.IndexFunc(free, func(n int64) bool { return n >= gpus }); i >= 0 {
		return i, nil
	}
	for _, i := range order {
		if chosen, enough, _ := take(free[i], on[i], i, gone, gpus); enough {
			return i, chosen
		}
	}
	best, victims, last := -1, []*run(nil), time.Duration(0)
	for i := range free {
		chosen, enough, earliest := take(free[i], on[i], i, gone, gpus)
		fewer := len(chosen) < len(victims) || len(chosen) == len(victims) && earliest > last
		if enough && (best < 0 || fewer) {
			best, victims, last = i, chosen, earliest
		}
	}
	return best, victims
}

// take ranks on a node until one of the preemptor's fits.
func take(free int64, on []*run, node int, gone map[*run]bool, gpus int64) (
	chosen []*run, enough bool, earliest time.Duration,
) {
	for _, v := range on {
		if free >= gpus {
			break
		}
		if gone[v] {
			continue
		}
		free += int64(v.on[node]) * v.GPUs
		chosen = append(chosen, v)
		if earliest == 0 || v.began < earliest {
			earliest = v.began
		}
	}
	return chosen, free >= gpus, earliest
}
