package preemption

import (
	"cmp"
	"slices"
)

// candidate is a possible victim with its price.
type candidate struct {
	gang   *Running
	price  Price
	shares []share
}

// cost of a candidate, in GPU-seconds plus 1, so that among free ones the fewest are taken.
func (c *candidate) cost() int64 { return c.price.GPUSeconds + 1 }

func totalCost(list []*candidate) int64 {
	var sum int64
	for _, c := range list {
		sum += c.cost()
	}
	return sum
}

// candidates returns the gangs that hold something the ranks could use, cheapest first.
func (s *space) candidates(gangs []*Running, price func(*Running) Price) []*candidate {
	var list []*candidate
	for _, g := range gangs {
		c := &candidate{gang: g, shares: s.shares(g.Holds)}
		if s.helps(c.shares) {
			c.price = price(g)
			list = append(list, c)
		}
	}
	slices.SortFunc(list, compareCandidates)
	return list
}

func (s *space) helps(shares []share) bool {
	for _, sh := range shares {
		for _, b := range s.budgets {
			if sh.node == b.node && overlap(sh.amounts, b.total) {
				return true
			}
		}
		for i := range s.needs {
			n := &s.needs[i]
			if _, on := slices.BinarySearch(n.nodes, sh.node); on && overlap(sh.amounts, n.requests) {
				return true
			}
		}
	}
	return false
}

func overlap(held, wanted []int64) bool {
	for i, n := range wanted {
		if n > 0 && held[i] > 0 {
			return true
		}
	}
	return false
}

// compareCandidates by cost; then the one that started later first, since it has done less work.
func compareCandidates(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.cost(), b.cost()), cmp.Compare(a.gang.Value, b.gang.Value),
		b.gang.Began.Compare(a.gang.Began), cmp.Compare(a.gang.UID, b.gang.UID))
}

// cover returns the gangs that together free enough capacity; nil: all of them do not. It leaves the space
// unchanged.
func (s *space) cover(list []*candidate) []*candidate {
	all := s.with(list)
	enough := s.fits()
	all.undo()
	if !enough {
		return nil
	}
	best := s.guess(list)
	if len(list) <= searched {
		best = s.search(list, best)
	}
	slices.SortFunc(best, compareCandidates)
	return best
}

// guess returns the cheapest of a few quickly found covers. The full list must be enough.
func (s *space) guess(list []*candidate) []*candidate {
	var best []*candidate
	for _, try := range []func([]*candidate) []*candidate{s.single, s.cheapestFirst, s.mostCapacityForItsCost} {
		if found := try(list); found != nil {
			if found = s.reduced(found); best == nil || totalCost(found) < totalCost(best) {
				best = found
			}
		}
	}
	if best == nil { // the full list is enough, but part of it may not be: see place
		best = s.reduced(list)
	}
	return best
}

// loan is temporarily added capacity.
type loan struct {
	s      *space
	shares []share
}

func (s *space) with(list []*candidate) loan {
	l := loan{s: s}
	for _, c := range list {
		l.shares = append(l.shares, c.shares...)
	}
	s.add(l.shares, 1)
	return l
}

func (l loan) undo() { l.s.add(l.shares, -1) }

// single returns the cheapest candidate that is enough alone.
func (s *space) single(list []*candidate) []*candidate {
	for _, c := range list {
		l := s.with([]*candidate{c})
		enough := s.fits()
		l.undo()
		if enough {
			return []*candidate{c}
		}
	}
	return nil
}

// cheapestFirst adds candidates by cost until they are enough.
func (s *space) cheapestFirst(list []*candidate) []*candidate {
	for n := range list {
		s.add(list[n].shares, 1)
		if s.fits() {
			s.with(list[:n+1]).undoTwice()
			return list[:n+1]
		}
	}
	s.with(list).undoTwice()
	return nil
}

// undoTwice undoes the previous loan and this one.
func (l loan) undoTwice() { l.undo(); l.undo() }

// mostCapacityForItsCost adds in each step the candidate with the lowest cost by rank that then fits. This
// changes only with the candidates taken on its nodes.
func (s *space) mostCapacityForItsCost(list []*candidate) []*candidate {
	on := map[int][]int{}
	scores := make([]float64, len(list))
	for i, c := range list {
		scores[i] = s.gain(c) / float64(c.cost())
		for _, sh := range c.shares {
			on[sh.node] = append(on[sh.node], i)
		}
	}
	const isTaken = -1
	var taken []*candidate
	for !s.fits() && len(taken) < len(list) {
		best := 0
		for i, score := range scores {
			if score > scores[best] {
				best = i
			}
		}
		c := list[best]
		taken, scores[best] = append(taken, c), isTaken
		s.add(c.shares, 1)
		for _, sh := range c.shares {
			for _, i := range on[sh.node] {
				if scores[i] != isTaken {
					scores[i] = s.gain(list[i]) / float64(list[i].cost())
				}
			}
		}
	}
	enough := s.fits()
	for _, c := range taken {
		s.add(c.shares, -1)
	}
	if !enough {
		return nil
	}
	return taken
}

// partial is the weight of part of a rank's capacity: two halves of a node have value although no rank fits
// into either, but less than a full one.
const partial = 0.25

// gain returns how many more ranks fit with what a candidate holds; parts of a rank count a little.
func (s *space) gain(c *candidate) float64 {
	var gain float64
	for _, sh := range c.shares {
		free := s.free[sh.node]
		more := make([]int64, len(free))
		for i := range free {
			more[i] = free[i] + sh.amounts[i]
		}
		for _, b := range s.budgets {
			if sh.node == b.node {
				gain += max(0, min(1, part(more, b.total))-min(1, part(free, b.total)))
			}
		}
		for i := range s.needs {
			n := &s.needs[i]
			if _, on := slices.BinarySearch(n.nodes, sh.node); on {
				gain += float64(fit(more, n.requests)-fit(free, n.requests)) +
					partial*(part(more, n.requests)-part(free, n.requests))
			}
		}
	}
	return gain
}

// part of a rank that fits, by the scarcest resource; can exceed 1.
func part(free, requests []int64) float64 {
	least := -1.0
	for i, amount := range requests {
		if amount > 0 {
			if p := float64(max(0, free[i])) / float64(amount); least < 0 || p < least {
				least = p
			}
		}
	}
	return max(0, least)
}

// reduced leaves out unneeded candidates: the most valuable first, then the most expensive.
func (s *space) reduced(list []*candidate) []*candidate {
	kept := slices.SortedFunc(slices.Values(list), func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.gang.Value, a.gang.Value), compareCandidates(b, a))
	})
	s.with(kept) // until the end
	for i := 0; i < len(kept); {
		s.add(kept[i].shares, -1)
		if s.fits() {
			kept = slices.Delete(kept, i, i+1)
			continue
		}
		s.add(kept[i].shares, 1)
		i++
	}
	s.with(kept).undoTwice()
	return kept
}
