package preemption

const (
	// searched is the largest number of candidates for an exact search.
	searched = 16
	// steps bounds the search. At the bound the best cover so far counts.
	steps = 1 << 15
)

// search for the cheapest cover, by branch and bound. Candidates come cheapest first, and a branch ends when
// it costs as much as the best known cover.
func (s *space) search(list, best []*candidate) []*candidate {
	bound, tried := totalCost(best), 0
	var taken []*candidate
	var branch func(from int, cost int64)
	branch = func(from int, cost int64) {
		if tried++; tried > steps || cost >= bound {
			return
		}
		if s.fits() {
			best, bound = append([]*candidate(nil), taken...), cost
			return
		}
		for i := from; i < len(list); i++ {
			if cost+list[i].cost() >= bound {
				return // as do all candidates after it
			}
			taken = append(taken, list[i])
			s.add(list[i].shares, 1)
			branch(i+1, cost+list[i].cost())
			s.add(list[i].shares, -1)
			taken = taken[:len(taken)-1]
		}
	}
	branch(0, 0)
	return best
}
