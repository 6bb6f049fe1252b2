package sim

import (
	"cmp"
	"slices"
)

// nodes are the free GPUs of each.
type nodes []int64

// place ranks on the nodes that have least left, and return how many each takes; nil where they do not all
// fit.
func (n nodes) place(ranks int, gpus int64) map[int]int {
	order := make([]int, 0, len(n))
	for i, free := range n {
		if free >= gpus {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n[a], n[b]) })
	on := map[int]int{}
	for _, i := range order {
		k := min(ranks, int(n[i]/gpus))
		on[i], ranks = k, ranks-k
		if ranks == 0 {
			return on
		}
	}
	return nil
}

// fits reports whether so many ranks fit.
func (n nodes) fits(ranks int, gpus int64) bool {
	for _, free := range n {
		if ranks -= int(free / gpus); ranks <= 0 {
			return true
		}
	}
	return false
}

// give a run its GPUs, or take them with sign -1.
func (n nodes) add(on map[int]int, gpus, sign int64) {
	for i, ranks := range on {
		n[i] += sign * gpus * int64(ranks)
	}
}
