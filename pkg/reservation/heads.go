package reservation

import (
	"cmp"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// head is a gang for which capacity is reserved.
type head struct {
	gang    *Waiting
	demand  *demand
	profile *profile
	slot    *slot
	// kept are the nodes that its written reservation keeps, by row; nil: it keeps none yet.
	kept []bool
	// spare are the amounts of its budgets that it leaves to gangs that may still run at its time.
	spare map[int][]int64
	// released: others may use its capacity in this pass, since its scheduler did not use it.
	released bool
}

// round is one pass over a lane.
type round struct {
	*Policy
	s     *Snapshot
	table *table
	// queue is the waiting gangs in the order in which they are served.
	queue  []*Waiting
	heads  []*head
	result Result
	// now is what is free for the gangs that may start now.
	now amounts
	// failed are the shapes that do not fit: on any node, and beside the reservations.
	failed map[attempt]bool
	fences map[fenced]*fence
}

// Pass returns the reservations, passes, holds and recalls of a lane. It acts only on what is written in the
// statuses, and keeps no state.
func (p Policy) Pass(s Snapshot) Result {
	x := &round{
		Policy: &p, s: &s, failed: map[attempt]bool{}, fences: map[fenced]*fence{},
		result: Result{
			Reservations: map[preemption.Ref]*Reservation{}, Passes: map[preemption.Ref]*Pass{},
			Held: map[preemption.Ref]Held{},
		},
	}
	for i := range s.Waiting {
		if len(s.Waiting[i].Needs) > 0 {
			x.queue = append(x.queue, &s.Waiting[i])
		}
	}
	if !slices.ContainsFunc(x.queue, mayReserve) {
		return x.result
	}
	slices.SortFunc(x.queue, func(a, b *Waiting) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID))
	})
	x.table = newTable(&s)
	x.now = x.table.free.clone()
	for _, g := range x.queue {
		x.reserve(g)
	}
	if len(x.heads) > 0 && !p.DryRun {
		x.admit()
		x.recall()
	}
	return x.result
}

// mayReserve reports whether a gang may have a reservation.
func mayReserve(g *Waiting) bool { return g.ReserveAfter > 0 || g.Reservation != nil }

// reserve capacity for a gang, or continue its reservation.
func (x *round) reserve(g *Waiting) {
	if len(x.heads) == x.MaxReservations || g.ReserveAfter == 0 || g.Blocked.IsZero() {
		return
	}
	written := g.Reservation
	if written != nil && written.Phase == Lapsed {
		if x.mustWait(written) {
			x.result.Reservations[g.Ref] = written
			return
		}
		written = nil
	}
	if due := g.Blocked.Add(g.ReserveAfter); written == nil && x.s.Now.Before(due) {
		x.again(due)
		return
	}
	h := &head{gang: g, demand: x.table.demandOf(g)}
	switch {
	case written == nil && x.fitsNow(h):
		return
	case x.s.Gates == scheduler.GateIgnored && !x.DryRun:
		if written == nil {
			written = &Reservation{Since: x.s.Now}
		}
		x.lapse(g, written, GateIgnored)
		return
	}
	if written != nil && !x.s.Now.Before(written.Since.Add(x.MaxAge)) {
		x.lapse(g, written, TooOld)
		return
	}
	h.profile = x.profileFor(g)
	h.slot = x.slotOf(h, written)
	switch {
	case h.slot != nil:
		x.result.Reservations[g.Ref] = x.update(h, written)
		x.keep(h, written)
	case written != nil && len(x.heads) == 0: // else an earlier reservation takes its place
		x.lapse(g, written, DoesNotFit)
	}
}

// mustWait reports whether a gang gets no reservation yet after one that lapsed.
func (x *round) mustWait(lapsed *Reservation) bool {
	if lapsed.Reason == GateIgnored {
		return x.s.Gates != scheduler.GateBlocks
	}
	free := lapsed.Changed.Add(lapsed.Changed.Sub(lapsed.Since))
	x.again(free)
	return x.s.Now.Before(free)
}

// profileFor a gang: without what the earlier reservations claim. Gangs of a higher value need not leave for
// it.
func (x *round) profileFor(g *Waiting) *profile {
	p := newProfile(x.table, x.s, func(r *Running) bool {
		return r.Value <= g.Value && x.recallable(r, x.s.Now)
	})
	for _, h := range x.heads {
		p.claim(h.slot.shares)
	}
	return p
}

// fitsNow reports whether a gang fits on what is free. Its scheduler places it without a reservation.
func (x *round) fitsNow(h *head) bool {
	_, fits := h.demand.place(x.now, nil, nil)
	return fits
}

func (x *round) lapse(g *Waiting, written *Reservation, why Reason) {
	lapsed := *written
	lapsed.Phase, lapsed.Reason, lapsed.Changed, lapsed.Time = Lapsed, why, x.s.Now, time.Time{}
	lapsed.Nodes = nil
	x.result.Reservations[g.Ref] = &lapsed
	x.again(x.s.Now.Add(lapsed.Changed.Sub(lapsed.Since)))
}

// slotOf a gang: on the nodes that are written, unless one is lost or other nodes are free clearly earlier.
func (x *round) slotOf(h *head, written *Reservation) *slot {
	most := x.keptNodes(x.table.nodes)
	for _, earlier := range x.heads {
		most -= len(earlier.slot.nodes)
	}
	most = max(0, most)
	best := h.profile.earliest(h.demand, most)
	if written == nil || best == nil {
		return best
	}
	nodes, complete := x.rows(written.Nodes)
	if !complete || len(written.Nodes) > most || !h.demand.usesAll(nodes) {
		return best
	}
	same := h.profile.earliest(h.demand.only(nodes), most)
	if same == nil || same.later(best, x.s.Now, earlierPercent) {
		return best
	}
	same.nodes = nil // all written ones stay, also those that it does not need
	for i, kept := range nodes {
		if kept {
			same.nodes = append(same.nodes, i)
		}
	}
	return same
}

// rows of nodes by name; false: one of them is lost.
func (x *round) rows(names []string) (rows []bool, complete bool) {
	rows, complete = make([]bool, x.table.nodes), true
	for _, name := range names {
		i, known := x.table.rows[name]
		if known && i < x.table.nodes {
			rows[i] = true
		} else {
			complete = false
		}
	}
	return rows, complete
}

// update the written reservation. Its time changes only if it differs clearly: each write costs.
func (x *round) update(h *head, written *Reservation) *Reservation {
	now := x.s.Now
	r := &Reservation{Since: now, Changed: now, Phase: Planned}
	if written != nil {
		*r = *written
	}
	nodes := make([]string, 0, len(h.slot.nodes))
	for _, i := range h.slot.nodes {
		nodes = append(nodes, x.table.labels[i])
	}
	slices.Sort(nodes)
	if written != nil && !slices.Equal(nodes, written.Nodes) {
		r.Moved++
	}
	r.Nodes = nodes
	if x.timeChanged(r.Time, h.slot) {
		r.Time = time.Time{}
		if !h.slot.unknown {
			r.Time = h.slot.at
		}
	}
	if phase := x.phase(h); r.Phase != phase {
		r.Phase, r.Changed = phase, now
	}
	switch fits := x.fitsNow(h); {
	case !fits:
		r.Fits = time.Time{}
	case r.Fits.IsZero() || !now.Before(r.Fits.Add(x.Placing)):
		r.Fits = now
	}
	if !r.Fits.IsZero() {
		x.again(r.Fits.Add(x.Placing))
	}
	x.again(r.Since.Add(x.MaxAge))
	return r
}

func (x *round) phase(h *head) Phase {
	switch {
	case x.DryRun:
		return Planned
	case h.slot.due:
		return Due
	}
	return Kept
}

func (x *round) timeChanged(written time.Time, s *slot) bool {
	if s.unknown || written.IsZero() {
		return s.unknown != written.IsZero()
	}
	left := s.at.Sub(x.s.Now)
	return written.Sub(s.at).Abs() >= max(leastChange, left/10)
}

// keep capacity for a gang: the claim is not available to later reservations. Only written nodes hold gangs.
func (x *round) keep(h *head, written *Reservation) {
	x.heads = append(x.heads, h)
	if written == nil || written.Phase == Planned {
		return
	}
	h.kept, _ = x.rows(written.Nodes)
	h.released = !written.Fits.IsZero() && x.fitsNow(h) && !x.s.Now.Before(written.Fits.Add(x.Placing))
	h.spare = x.spareOf(h)
}

// spareOf the budgets of a gang: what is free at its time, less its claim.
func (x *round) spareOf(h *head) map[int][]int64 {
	spare := map[int][]int64{}
	for _, b := range h.demand.budgets {
		row := slices.Clone(h.profile.soon.row(b))
		for i, n := range h.demand.total {
			row[i] -= n
		}
		for _, r := range h.profile.releases {
			if r.unknown || h.slot.unknown || r.at.After(h.slot.at) {
				break
			}
			for _, s := range r.shares {
				if s.row == b {
					for i, n := range s.amounts {
						row[i] += n
					}
				}
			}
		}
		spare[b] = row
	}
	return spare
}

// again asks for a pass at a time.
func (x *round) again(at time.Time) {
	if at.After(x.s.Now) && (x.result.Again.IsZero() || at.Before(x.result.Again)) {
		x.result.Again = at
	}
}
