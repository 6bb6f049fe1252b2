package reservation

import (
	"slices"
	"time"
)

// attempt to place a shape, anywhere or beside the reservations.
type attempt struct {
	demand *demand
	beside bool
}

// admit decides for each gang, in the order of the queue, whether it may start. What it takes is not
// available to those after it.
func (x *round) admit() {
	var before []*head
	for _, g := range x.queue {
		d := x.table.demandOf(g)
		if i := slices.IndexFunc(x.heads, func(h *head) bool { return h.gang == g }); i >= 0 {
			if before = append(before, x.heads[i]); !x.heads[i].released {
				x.take(d, nil)
			}
			continue
		}
		blocking := x.blocking(before, g, d)
		if blocking == nil {
			x.take(d, nil)
			continue
		}
		if blocking.released {
			x.admitReleased(g, d, blocking)
			continue
		}
		if pass := x.passOf(g, d, blocking); pass != nil {
			x.result.Passes[g.Ref] = pass
			continue
		}
		_, fits := x.fits(d, nil)
		if fits {
			x.again(x.s.Now.Add(x.MaxHold - g.Hold.Total(x.s.Now)))
		}
		x.result.Held[g.Ref] = Held{For: blocking.heads[0].gang.Ref, Fits: fits}
	}
}

// admitReleased lets a gang start in capacity that is released for this pass. One that does not fit stays
// held: its pods would be in the way later.
func (x *round) admitReleased(g *Waiting, d *demand, f *fence) {
	if g.Pass != nil && x.stands(g, f) {
		x.result.Passes[g.Ref] = g.Pass
	}
	if taken, fits := x.fits(d, nil); fits {
		x.now.add(taken, -1)
	} else if x.result.Passes[g.Ref] == nil {
		x.result.Held[g.Ref] = Held{For: f.heads[0].gang.Ref}
	}
}

// blocking returns the reservations that hold a gang: those of earlier gangs, on nodes or budgets that it may
// use. None holds a gang that was held for as long as is allowed.
func (x *round) blocking(before []*head, g *Waiting, d *demand) *fence {
	if len(before) == 0 || g.Hold.Total(x.s.Now) >= x.MaxHold {
		return nil
	}
	if f, known := x.fences[fenced{d, len(before)}]; known {
		return f
	}
	var standing, released []*head
	for _, h := range before {
		switch {
		case h.kept == nil || !d.shares(h.demand) && !d.uses(h.kept):
		case h.released:
			released = append(released, h)
		default:
			standing = append(standing, h)
		}
	}
	var f *fence
	switch {
	case len(standing) > 0:
		f = x.fenceOf(d, standing)
	case len(released) > 0:
		f = x.fenceOf(d, released)
		f.released = true
	}
	x.fences[fenced{d, len(before)}] = f
	return f
}

// fenced is a shape behind the first so many reservations.
type fenced struct {
	demand *demand
	before int
}

// fence is what some reservations keep from a shape.
type fence struct {
	heads []*head
	// released: others may use the capacity in this pass.
	released bool
	// avoid are the kept nodes, and names their names; nil: the shape uses none of them.
	avoid []bool
	names []string
	// first of the reservations' times; zero: unknown. known is true if all of them are.
	first time.Time
	known bool
}

func (x *round) fenceOf(d *demand, heads []*head) *fence {
	f := &fence{heads: heads, known: true, avoid: make([]bool, x.table.nodes)}
	for _, h := range heads {
		f.names = append(f.names, h.gang.Reservation.Nodes...)
		for i, kept := range h.kept {
			f.avoid[i] = f.avoid[i] || kept
		}
		f.known = f.known && !h.slot.unknown
		if !h.slot.unknown && (f.first.IsZero() || h.slot.at.Before(f.first)) {
			f.first = h.slot.at
		}
	}
	slices.Sort(f.names)
	f.names = slices.Compact(f.names)
	if !d.uses(f.avoid) {
		f.names, f.avoid = nil, nil
	}
	return f
}

// passOf a gang; nil: it has none. A written pass stands as long as it is true.
func (x *round) passOf(g *Waiting, d *demand, f *fence) *Pass {
	if g.Pass != nil && x.stands(g, f) {
		if taken, fits := d.place(x.now, x.avoided(g.Pass), nil); fits {
			x.now.add(taken, -1)
		}
		return g.Pass
	}
	if pass := x.beside(g, d, f); pass != nil {
		return pass
	}
	taken, fits := x.fits(d, nil)
	if !fits {
		return nil
	}
	pass := x.bounded(g, f)
	if pass == nil {
		pass = x.lent(g, f)
	}
	if pass != nil {
		x.now.add(taken, -1)
	}
	return pass
}

// stands reports whether a written pass is still true.
func (x *round) stands(g *Waiting, f *fence) bool {
	switch g.Pass.How {
	case OtherNodes:
		return !slices.ContainsFunc(f.names, func(name string) bool {
			_, off := slices.BinarySearch(g.Pass.KeepsOff, name)
			return !off
		})
	case EndsBefore:
		return x.bounded(g, f) != nil
	case Lent:
		return true
	}
	return false
}

// avoided nodes of a pass.
func (x *round) avoided(p *Pass) []bool {
	if len(p.KeepsOff) == 0 {
		return nil
	}
	rows, _ := x.rows(p.KeepsOff)
	return rows
}

// beside lets a gang start on other nodes, within what the reservations leave of their budgets.
func (x *round) beside(g *Waiting, d *demand, f *fence) *Pass {
	if len(f.names) > 0 && (!g.KeepsOff || len(f.names) > x.MaxKeepsOff) {
		return nil
	}
	if slices.ContainsFunc(f.heads, func(h *head) bool { return !h.leaves(d) }) {
		return nil
	}
	taken, fits := x.fits(d, f.avoid)
	if !fits {
		return nil
	}
	x.now.add(taken, -1)
	for _, h := range f.heads {
		h.use(d)
	}
	return &Pass{How: OtherNodes, KeepsOff: f.names}
}

// leaves reports whether the budgets have enough for a gang beside the reservation.
func (h *head) leaves(d *demand) bool {
	for _, b := range d.budgets {
		for i, n := range d.total {
			if spare := h.spare[b]; spare != nil && n > 0 && spare[i] < n {
				return false
			}
		}
	}
	return true
}

func (h *head) use(d *demand) {
	for _, b := range d.budgets {
		if spare := h.spare[b]; spare != nil {
			for i, n := range d.total {
				spare[i] -= n
			}
		}
	}
}

// bounded lets a gang start that has ended when the capacity is needed.
func (x *round) bounded(g *Waiting, f *fence) *Pass {
	ends := x.s.Now.Add(x.bound(g))
	if g.Bound > 0 && f.known && !ends.After(f.first) {
		return &Pass{How: EndsBefore, Until: ends}
	}
	return nil
}

// lent lets a gang start that will leave when the capacity is needed.
func (x *round) lent(g *Waiting, f *fence) *Pass {
	if !g.Lendable || g.Recalls >= maxRecalls {
		return nil
	}
	least := max(minLent, lentStarts*(g.Save+g.Start))
	if !f.first.IsZero() && f.first.Sub(x.s.Now) < least {
		return nil
	}
	return &Pass{How: Lent, Until: f.first}
}

// fits reports whether a gang fits on what is left, outside of some nodes. In one pass a shape that did not
// fit does not fit later: what is left only gets less.
func (x *round) fits(d *demand, avoid []bool) ([]share, bool) {
	key := attempt{d, avoid != nil}
	if x.failed[key] {
		return nil, false
	}
	taken, fits := d.place(x.now, avoid, nil)
	x.failed[key] = !fits
	return taken, fits
}

// take what a gang that may start takes, if it fits.
func (x *round) take(d *demand, avoid []bool) {
	if taken, fits := x.fits(d, avoid); fits {
		x.now.add(taken, -1)
	}
}
