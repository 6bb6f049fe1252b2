package preemption

import (
	"cmp"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// space is the capacity of the nodes for one gang, plus that of possible victims. Resources and nodes are
// indices, since a cover tries thousands of combinations.
type space struct {
	names []corev1.ResourceName
	nodes map[string]int
	// free amounts by node and resource.
	free    [][]int64
	needs   []need // the role with the largest ranks first
	budgets []budget
}

// budget is a row of free that no rank is placed on: all ranks together must fit into it.
type budget struct {
	node int
	// total needs of all ranks, by resource; 0 for what the budget does not limit.
	total []int64
}

type need struct {
	ranks    int64
	requests []int64 // by resource; 0: none
	nodes    []int   // sorted
	order    []int   // the same, in the order of use
}

// newSpace has the nodes that the gang's needs can use, in their order, and its budgets.
func newSpace(nodes []Node, waiting *Waiting) *space {
	s := &space{nodes: map[string]int{}}
	used, resources := map[string]bool{}, map[corev1.ResourceName]bool{}
	for _, name := range waiting.Within {
		used[name] = true
	}
	for _, n := range waiting.Needs {
		for _, name := range n.Nodes {
			used[name] = true
		}
		for name := range n.Requests {
			resources[name] = true
		}
	}
	s.names = slices.Sorted(maps.Keys(resources))
	for _, n := range nodes {
		if used[n.Name] {
			s.nodes[n.Name] = len(s.free)
			s.free = append(s.free, s.vector(n.Free))
		}
		if slices.Contains(waiting.Within, n.Name) {
			s.budgets = append(s.budgets, budget{s.nodes[n.Name], s.limited(n, waiting.Needs)})
		}
	}
	for _, n := range largestFirst(waiting.Needs) {
		one := need{ranks: n.Ranks, requests: s.vector(n.Requests)}
		for _, name := range n.Nodes {
			if i, known := s.nodes[name]; known {
				one.nodes = append(one.nodes, i)
			}
		}
		slices.Sort(one.nodes)
		s.needs = append(s.needs, one)
	}
	s.preferOwn()
	return s
}

// limited returns the total needs of all ranks for the resources that a budget limits.
func (s *space) limited(by Node, needs []Need) []int64 {
	total := make([]int64, len(s.names))
	for _, n := range needs {
		for i, name := range s.names {
			if _, is := by.Free[name]; is {
				total[i] += n.Ranks * n.Requests[name]
			}
		}
	}
	return total
}

// preferOwn puts nodes that only one role can use before nodes that later roles need too.
func (s *space) preferOwn() {
	for i := range s.needs {
		n := &s.needs[i]
		n.order = slices.Clone(n.nodes)
		rivals := func(node int) (count int) {
			for _, later := range s.needs[i+1:] {
				if _, on := slices.BinarySearch(later.nodes, node); on {
					count++
				}
			}
			return count
		}
		slices.SortStableFunc(n.order, func(a, b int) int { return cmp.Compare(rivals(a), rivals(b)) })
	}
}

// largestFirst returns the order in which package scheduler also places roles (placeable).
func largestFirst(needs []Need) []Need {
	sorted := slices.Clone(needs)
	slices.SortStableFunc(sorted, func(a, b Need) int {
		for _, name := range scheduler.ByImportance(a.Requests) {
			return cmp.Compare(b.Requests[name], a.Requests[name])
		}
		return 0
	})
	return sorted
}

func (s *space) vector(a scheduler.Amounts) []int64 {
	v := make([]int64, len(s.names))
	for i, name := range s.names {
		v[i] = a[name]
	}
	return v
}

// share is what a gang holds on one node.
type share struct {
	node    int
	amounts []int64
}

// shares of what a gang holds, on the space's nodes and of its resources.
func (s *space) shares(holds map[string]scheduler.Amounts) []share {
	var list []share
	for name, amounts := range holds {
		if i, known := s.nodes[name]; known {
			list = append(list, share{i, s.vector(amounts)})
		}
	}
	slices.SortFunc(list, func(a, b share) int { return cmp.Compare(a.node, b.node) })
	return list
}

// add shares to the free amounts, or subtract them with sign -1.
func (s *space) add(shares []share, sign int64) {
	for _, sh := range shares {
		free := s.free[sh.node]
		for i, n := range sh.amounts {
			free[i] += sign * n
		}
	}
}

// fit returns how many ranks with the requests fit into the free amounts.
func fit(free, requests []int64) int64 {
	n := int64(math.MaxInt64)
	for i, amount := range requests {
		if amount > 0 {
			n = min(n, max(0, free[i])/amount)
		}
	}
	return n
}

// place all ranks and return what they take by node; false: some do not fit. Roles are placed one after the
// other, so with several roles it may miss a solution.
func (s *space) place() (map[int][]int64, bool) {
	taken := map[int][]int64{}
	for _, n := range s.needs {
		left := n.ranks
		for _, node := range n.order {
			if left == 0 {
				break
			}
			free := s.free[node]
			if t := taken[node]; t != nil {
				free = slices.Clone(free)
				for i := range free {
					free[i] -= t[i]
				}
			}
			k := min(left, fit(free, n.requests))
			if k == 0 {
				continue
			}
			left -= k
			if taken[node] == nil {
				taken[node] = make([]int64, len(s.names))
			}
			for i, amount := range n.requests {
				taken[node][i] += k * amount
			}
		}
		if left > 0 {
			return nil, false
		}
	}
	return taken, true
}

// fits reports whether all ranks fit.
func (s *space) fits() bool {
	for _, b := range s.budgets {
		if !enough(s.free[b.node], b.total) {
			return false
		}
	}
	for _, n := range s.needs { // each role alone: most tries fail here
		left := n.ranks
		for _, node := range n.nodes {
			if left -= fit(s.free[node], n.requests); left <= 0 {
				break
			}
		}
		if left > 0 {
			return false
		}
	}
	if len(s.needs) == 1 {
		return true
	}
	_, all := s.place()
	return all
}

func enough(free, total []int64) bool {
	for i, n := range total {
		if n > 0 && free[i] < n {
			return false
		}
	}
	return true
}

// claim returns what the ranks would take by node and of each budget; nil: they do not fit.
func (s *space) claim() map[string]scheduler.Amounts {
	taken, ok := s.place()
	if !ok {
		return nil
	}
	for _, b := range s.budgets {
		taken[b.node] = b.total
	}
	claims := map[string]scheduler.Amounts{}
	for name, node := range s.nodes {
		if t := taken[node]; t != nil {
			amounts := scheduler.Amounts{}
			for i, n := range t {
				if n > 0 {
					amounts[s.names[i]] = n
				}
			}
			claims[name] = amounts
		}
	}
	return claims
}
