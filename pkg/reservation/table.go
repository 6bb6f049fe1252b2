package reservation

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// unlimited is the free amount of a resource that a budget does not limit. Sums of it do not overflow.
const unlimited = math.MaxInt64 / 4

// table has the capacity of nodes and budgets as rows of amounts. Resources and rows are indices, since a
// pass tests many gangs.
type table struct {
	names []corev1.ResourceName
	rows  map[string]int
	// labels are the names of the rows: first the nodes, then the budgets.
	labels []string
	nodes  int
	free   amounts
	// demands by the identity of the gangs' needs.
	demands map[identity]*demand
}

// amounts of all rows, one row after the other.
type amounts struct {
	width int
	all   []int64
}

func (a amounts) row(i int) []int64 { return a.all[i*a.width : (i+1)*a.width] }

func (a amounts) clone() amounts { return amounts{a.width, slices.Clone(a.all)} }

// identity of a gang's needs: gangs of one shape share the slice.
type identity struct {
	needs  *preemption.Need
	within string
}

// demand of a gang.
type demand struct {
	needs   []need
	budgets []int
	total   []int64
}

// need is the unplaced ranks of one role.
type need struct {
	ranks    int64
	requests []int64
	nodes    []int // sorted
}

// share is what a gang holds on one row.
type share struct {
	row     int
	amounts []int64
}

func newTable(s *Snapshot) *table {
	t := &table{rows: map[string]int{}, nodes: len(s.Nodes), demands: map[identity]*demand{}}
	resources, seen := map[corev1.ResourceName]bool{}, map[*preemption.Need]bool{}
	for i := range s.Waiting {
		if needs := s.Waiting[i].Needs; len(needs) > 0 && !seen[&needs[0]] {
			seen[&needs[0]] = true
			for _, n := range needs {
				for name := range n.Requests {
					resources[name] = true
				}
			}
		}
	}
	t.names = slices.Sorted(maps.Keys(resources))
	t.free = amounts{len(t.names), make([]int64, 0, (len(s.Nodes)+len(s.Budgets))*len(t.names))}
	for _, n := range s.Nodes {
		t.add(n.Name, t.vector(n.Free))
	}
	for _, b := range s.Budgets {
		t.add(b.Name, t.limits(b.Free))
	}
	return t
}

func (t *table) add(name string, row []int64) {
	t.rows[name] = len(t.labels)
	t.labels = append(t.labels, name)
	t.free.all = append(t.free.all, row...)
}

func (t *table) vector(a scheduler.Amounts) []int64 {
	v := make([]int64, len(t.names))
	for i, name := range t.names {
		v[i] = a[name]
	}
	return v
}

func (t *table) limits(a scheduler.Amounts) []int64 {
	v := t.vector(a)
	for i, name := range t.names {
		if _, limited := a[name]; !limited {
			v[i] = unlimited
		}
	}
	return v
}

// demandOf a gang. Roles with the largest ranks come first.
func (t *table) demandOf(g *Waiting) *demand {
	key := identity{&g.Needs[0], strings.Join(g.Within, "\x00")}
	if d := t.demands[key]; d != nil {
		return d
	}
	d := &demand{total: make([]int64, len(t.names))}
	for _, n := range g.Needs {
		one := need{ranks: n.Ranks, requests: t.vector(n.Requests)}
		for _, name := range n.Nodes {
			if i, known := t.rows[name]; known && i < t.nodes {
				one.nodes = append(one.nodes, i)
			}
		}
		slices.Sort(one.nodes)
		for i, amount := range one.requests {
			d.total[i] += n.Ranks * amount
		}
		if len(n.Nodes) > 0 { // else only budgets limit it
			d.needs = append(d.needs, one)
		}
	}
	slices.SortStableFunc(d.needs, func(a, b need) int { return slices.Compare(b.requests, a.requests) })
	for _, name := range g.Within {
		if i, known := t.rows[name]; known && i >= t.nodes {
			d.budgets = append(d.budgets, i)
		}
	}
	t.demands[key] = d
	return d
}

// shares of what a gang holds, on rows of the table.
func (t *table) shares(holds map[string]scheduler.Amounts) []share {
	list := make([]share, 0, len(holds))
	for name, held := range holds {
		if i, known := t.rows[name]; known {
			list = append(list, share{i, t.vector(held)})
		}
	}
	slices.SortFunc(list, func(a, b share) int { return cmp.Compare(a.row, b.row) })
	return list
}

// add shares, or subtract them with sign -1.
func (a amounts) add(shares []share, sign int64) {
	for _, s := range shares {
		row := a.row(s.row)
		for i, n := range s.amounts {
			row[i] += sign * n
		}
	}
}

// fit is how many ranks fit into a row.
func fit(free, requests []int64) int64 {
	n := int64(math.MaxInt64)
	for i, amount := range requests {
		if amount > 0 {
			n = min(n, max(0, free[i])/amount)
		}
	}
	return n
}

// within reports whether the budgets have enough for all ranks.
func (d *demand) within(free amounts) bool {
	for _, b := range d.budgets {
		row := free.row(b)
		for i, n := range d.total {
			if n > 0 && row[i] < n {
				return false
			}
		}
	}
	return true
}

// place all ranks and return what they take, budgets included; false: some do not fit. Nodes are used in the
// order that less returns, by default that of their names. Roles are placed one after the other, so with
// several roles it may miss a solution.
func (d *demand) place(free amounts, avoid []bool, less func(a, b int) int) ([]share, bool) {
	if !d.within(free) {
		return nil, false
	}
	taken := []share{}
	free = d.scratch(free)
	for i := range d.needs {
		n := &d.needs[i]
		order := n.nodes
		if less != nil {
			order = slices.Clone(n.nodes)
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Or(cmp.Compare(fit(free.row(b), n.requests), fit(free.row(a), n.requests)), less(a, b))
			})
		}
		left := n.ranks
		for _, node := range order {
			if left == 0 {
				break
			}
			k := min(left, fit(free.row(node), n.requests))
			if k == 0 || avoid != nil && avoid[node] {
				continue
			}
			left -= k
			s := share{node, make([]int64, len(n.requests))}
			for j, amount := range n.requests {
				s.amounts[j] = k * amount
			}
			taken = append(taken, s)
			if len(d.needs) > 1 {
				free.add(taken[len(taken)-1:], -1)
			}
		}
		if left > 0 {
			return nil, false
		}
	}
	for _, b := range d.budgets {
		taken = append(taken, share{b, d.total})
	}
	return taken, true
}

// scratch is free, or a copy that the placing of several roles may change.
func (d *demand) scratch(free amounts) amounts {
	if len(d.needs) > 1 {
		return free.clone()
	}
	return free
}

// only is the demand, on a subset of the nodes.
func (d *demand) only(nodes []bool) *demand {
	o := &demand{budgets: d.budgets, total: d.total}
	for _, n := range d.needs {
		n.nodes = slices.DeleteFunc(slices.Clone(n.nodes), func(i int) bool { return !nodes[i] })
		o.needs = append(o.needs, n)
	}
	return o
}

// usesAll reports whether ranks may be placed on each of the nodes.
func (d *demand) usesAll(nodes []bool) bool {
	for i, wanted := range nodes {
		if wanted && !slices.ContainsFunc(d.needs, func(n need) bool {
			_, is := slices.BinarySearch(n.nodes, i)
			return is
		}) {
			return false
		}
	}
	return true
}

// shares reports whether two gangs use one budget.
func (d *demand) shares(o *demand) bool {
	return slices.ContainsFunc(d.budgets, func(b int) bool { return slices.Contains(o.budgets, b) })
}

// uses reports whether a rank may be placed on one of the nodes.
func (d *demand) uses(nodes []bool) bool {
	return slices.ContainsFunc(d.needs, func(n need) bool {
		return slices.ContainsFunc(n.nodes, func(i int) bool { return nodes[i] })
	})
}
