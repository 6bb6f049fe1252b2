package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// board is what a scheduler sees that takes single ranks: the others of their gangs go on for it, though they
// end with them.
type board struct {
	free nodes
	// on are the ranks of lower value that a node has, by gang.
	on [][]part
}

// part of a gang: some ranks on one node.
type part struct {
	*run
	ranks int
}

func (p part) gpus() int64 { return int64(p.ranks) * p.GPUs }

// rankByRank places one rank of the gang after the other, by a choice of a node and of the ranks that it
// takes there.
func rankByRank(
	free nodes, lesser []*run, g *Job, r *rand.Rand, choose func(*board, int64, *rand.Rand) (int, []part),
) []*run {
	b := &board{free: slices.Clone(free), on: make([][]part, len(free))}
	for _, v := range lesser {
		for i, ranks := range v.on {
			b.on[i] = append(b.on[i], part{v, ranks})
		}
	}
	var victims []*run
	for range g.Ranks {
		node, taken := slices.IndexFunc(b.free, func(n int64) bool { return n >= g.GPUs }), []part(nil)
		if node < 0 {
			node, taken = choose(b, g.GPUs, r)
		}
		if node < 0 {
			return nil
		}
		for _, v := range taken {
			b.take(node, v)
			if !slices.Contains(victims, v.run) {
				victims = append(victims, v.run)
			}
		}
		b.free[node] -= g.GPUs
	}
	return victims
}

func (b *board) take(node int, taken part) {
	b.free[node] += taken.gpus()
	i := slices.IndexFunc(b.on[node], func(p part) bool { return p.run == taken.run })
	b.on[node][i].ranks -= taken.ranks
	if b.on[node][i].ranks == 0 {
		b.on[node] = slices.Delete(b.on[node], i, i+1)
	}
}

// racers look at nodes at the same time: as many as the machine of the records has processors, and at most 16
// (PredicateNodes).
const racers = 2

// raced returns the order in which parallel workers find n nodes: a worker that is done takes the next one.
func raced(n int, r *rand.Rand) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := range order {
		j := i + r.IntN(min(racers, n-i))
		found := order[j]
		copy(order[i+1:j+1], order[i:j])
		order[i] = found
	}
	return order
}

// firstNode on which a rank fits without some: those of the largest gangs first, then of the youngest.
func (b *board) firstNode(gpus int64, r *rand.Rand) (int, []part) {
	for _, node := range raced(len(b.free), r) {
		if taken, enough := b.largest(node, gpus); enough {
			return node, taken
		}
	}
	return -1, nil
}

// largest gangs' ranks on a node, until another rank fits.
func (b *board) largest(node int, gpus int64) (taken []part, enough bool) {
	order := slices.SortedFunc(slices.Values(b.on[node]), func(x, y part) int {
		return cmp.Or(cmp.Compare(x.Value, y.Value), cmp.Compare(y.Total(), x.Total()),
			cmp.Compare(y.began, x.began), cmp.Compare(x.ID, y.ID))
	})
	lacks := gpus - b.free[node]
	for _, v := range order {
		if lacks <= 0 {
			break
		}
		v.ranks = min(v.ranks, int((lacks+v.GPUs-1)/v.GPUs))
		taken = append(taken, v)
		lacks -= v.gpus()
	}
	return taken, lacks <= 0
}

// fewestVictims is the node on which the fewest ranks are taken, then the one whose victims of the highest
// value started last, then any.
func (b *board) fewestVictims(gpus int64, r *rand.Rand) (int, []part) {
	best, victims := -1, []part(nil)
	var least [3]int64
	for _, node := range r.Perm(len(b.free)) {
		taken := b.unspared(node, gpus)
		if len(taken) == 0 {
			continue
		}
		key, earliest := [3]int64{int64(taken[0].Value)}, taken[0].began
		for _, v := range taken {
			key[1] += int64(v.ranks)
			if v.Value == taken[0].Value {
				earliest = min(earliest, v.began)
			}
		}
		key[2] = -int64(earliest.Truncate(time.Second))
		if best < 0 || slices.Compare(key[:], least[:]) < 0 {
			best, victims, least = node, taken, key
		}
	}
	return best, victims
}

// unspared ranks of a node are those that do not fit beside a rank, the most valuable and oldest spared
// first; none where it does not fit without them all.
func (b *board) unspared(node int, gpus int64) (taken []part) {
	free := b.free[node] - gpus
	for _, v := range b.on[node] {
		free += v.gpus()
	}
	if free < 0 {
		return nil
	}
	order := slices.SortedFunc(slices.Values(b.on[node]), func(x, y part) int {
		return cmp.Or(cmp.Compare(y.Value, x.Value), cmp.Compare(x.began, y.began), cmp.Compare(x.ID, y.ID))
	})
	for _, v := range order {
		spared := min(v.ranks, int(free/v.GPUs))
		free -= int64(spared) * v.GPUs
		if v.ranks -= spared; v.ranks > 0 {
			taken = append(taken, v)
		}
	}
	return taken
}
