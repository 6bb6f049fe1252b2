package reservation

import (
	"cmp"
	"slices"
	"time"
)

// release of what a gang holds.
type release struct {
	at time.Time
	// unknown: the end is unknown. It comes after all known ones.
	unknown bool
	shares  []share
}

// profile is the capacity of a lane over time: what is free now, and what each running gang gives back.
type profile struct {
	table *table
	now   time.Time
	// soon is what is free once lent capacity is back and ending gangs are gone.
	soon     amounts
	releases []release
	// leaves are the rows on which some gang ends or must leave.
	leaves []bool
}

// slot is when and where a gang fits.
type slot struct {
	// at is the earliest time; unknown is true if it depends on a gang without a known end.
	at      time.Time
	unknown bool
	// due: it fits once lent capacity is back.
	due    bool
	shares []share
	nodes  []int // sorted
}

// later is true if the slot is later than another one by so many percent of the time until then.
func (s *slot) later(o *slot, now time.Time, percent int) bool {
	if s.unknown || o.unknown {
		return s.unknown && !o.unknown
	}
	left, other := s.at.Sub(now), o.at.Sub(now)
	return left-other >= leastChange && other < left*time.Duration(100-percent)/100
}

// end of a running gang.
type end struct {
	gang    *Running
	at      time.Time
	unknown bool
}

// newProfile sorts the ends of all gangs. Gangs without a known end come last: those that began last first,
// since most gangs that have run for long also run on for long.
func newProfile(t *table, s *Snapshot, recallable func(*Running) bool) *profile {
	p := &profile{table: t, now: s.Now, soon: t.free.clone(), leaves: make([]bool, len(t.labels))}
	ends := make([]end, 0, len(s.Running))
	for i := range s.Running {
		g := &s.Running[i]
		if g.Ending || recallable(g) {
			shares := t.shares(g.Holds)
			p.soon.add(shares, 1)
			for _, sh := range shares {
				p.leaves[sh.row] = true
			}
			continue
		}
		e := end{g, g.End, g.End.IsZero()}
		if !e.unknown && !e.at.After(s.Now) {
			const part = 10
			e.at = s.Now.Add(max(leastChange, s.Now.Sub(g.Began)/part))
		}
		ends = append(ends, e)
	}
	slices.SortFunc(ends, func(a, b end) int {
		switch {
		case a.unknown && b.unknown:
			return cmp.Or(b.gang.Began.Compare(a.gang.Began), cmp.Compare(a.gang.UID, b.gang.UID))
		case a.unknown:
			return 1
		case b.unknown:
			return -1
		}
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.gang.UID, b.gang.UID))
	})
	for _, e := range ends {
		p.releases = append(p.releases, release{e.at, e.unknown, t.shares(e.gang.Holds)})
	}
	return p
}

// claim subtracts what is reserved for a gang from all times.
func (p *profile) claim(shares []share) { p.soon.add(shares, -1) }

// maxTries bounds how often earliest places a gang whose ranks fit, but on too many nodes or not together.
// After that it only tries the end of all gangs.
const maxTries = 32

// earliest returns the first time at which a gang fits on at most so many nodes; nil: it never does. It
// prefers the nodes that are released last, so that others can use what is free until then.
func (p *profile) earliest(d *demand, mostNodes int) *slot {
	w := newWalk(p, d)
	if s := w.fitting(mostNodes); s != nil {
		s.at, s.due = p.now, true
		return s
	}
	tries := 0
	for i, r := range p.releases {
		w.release(i, r.shares)
		last := i == len(p.releases)-1
		if !last && (p.releases[i+1].at.Equal(r.at) && !r.unknown || tries == maxTries) || !w.enough() {
			continue
		}
		unknown := r.unknown || tries == maxTries
		if s := w.fitting(mostNodes); s != nil {
			s.at, s.unknown = r.at, unknown
			return s
		}
		tries++
	}
	return nil
}

// fitting returns where the gang fits now, on at most so many nodes; nil: it does not.
func (w *walk) fitting(mostNodes int) *slot {
	if !w.enough() {
		return nil
	}
	shares, ok := w.d.place(w.free, nil, w.latestFirst)
	if !ok {
		return nil
	}
	nodes := w.profile.nodesOf(shares)
	if len(nodes) > mostNodes {
		return nil
	}
	return &slot{shares: shares, nodes: nodes}
}

// nodesOf shares, sorted.
func (p *profile) nodesOf(shares []share) []int {
	nodes := []int{}
	for _, s := range shares {
		if s.row < p.table.nodes {
			nodes = append(nodes, s.row)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// walk follows the free capacity from one end to the next, for one gang.
type walk struct {
	profile *profile
	free    amounts
	d       *demand
	// fits are the ranks of each role that fit on each node, and totals their sums; -1: not usable.
	fits   [][]int64
	totals []int64
	// released is the last release of each row; -1: none, -2: none, and a gang must leave it first.
	released []int
}

func newWalk(p *profile, d *demand) *walk {
	w := &walk{profile: p, free: p.soon.clone(), d: d, released: make([]int, len(p.table.labels))}
	for i, leaves := range p.leaves {
		w.released[i] = -1
		if leaves {
			w.released[i] = -2
		}
	}
	for _, n := range d.needs {
		fits, total := make([]int64, p.table.nodes), int64(0)
		for i := range fits {
			fits[i] = -1
		}
		for _, node := range n.nodes {
			fits[node] = min(n.ranks, fit(w.free.row(node), n.requests))
			total += fits[node]
		}
		w.fits, w.totals = append(w.fits, fits), append(w.totals, total)
	}
	return w
}

func (w *walk) release(nth int, shares []share) {
	w.free.add(shares, 1)
	for _, s := range shares {
		w.released[s.row] = nth
		for i := range w.d.needs {
			if fits := w.fits[i]; s.row < len(fits) && fits[s.row] >= 0 {
				n := min(w.d.needs[i].ranks, fit(w.free.row(s.row), w.d.needs[i].requests))
				w.totals[i] += n - fits[s.row]
				fits[s.row] = n
			}
		}
	}
}

// enough reports whether each role alone fits, and the budgets suffice.
func (w *walk) enough() bool {
	for i, n := range w.d.needs {
		if w.totals[i] < n.ranks {
			return false
		}
	}
	return w.d.within(w.free)
}

func (w *walk) latestFirst(a, b int) int { return cmp.Compare(w.released[b], w.released[a]) }
