package sim

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// Backfill is how gangs that come later may start before a large one. All gangs have one value, and none is
// preempted but by a recall.
type Backfill struct {
	// Strict: no gang starts before an earlier one. Without it and without a policy all gangs that fit start.
	Strict bool
	// Policy reserves capacity for gangs of at least Large GPUs that have lacked it for After.
	Policy *reservation.Policy
	Large  int64
	After  time.Duration
	// Lend: capacity is lent to gangs that accept it.
	Lend bool
}

// serve the queue, and give reservations their capacity. The operator makes a pass each second: what one pass
// has written takes effect in the next, here at the same time.
func (p *simulation) serve() {
	const passes = 3
	held := reservation.Result{}
	for range passes {
		if !p.mayReserve() {
			break
		}
		held = p.way.Backfill.Policy.Pass(p.lane())
		if !p.write(&held) {
			break
		}
	}
	p.startQueued(held)
	p.obey(held)
}

func (p *simulation) mayReserve() bool {
	return p.way.Backfill.Policy != nil && slices.ContainsFunc(p.waiting, p.reserves)
}

// attempted is a shape that does not fit.
type attempted struct {
	shape
	queue  int
	beside bool
}

// startQueued starts the gangs that fit and are not held, in their order.
func (p *simulation) startQueued(held reservation.Result) {
	tried, stopped := map[attempted]bool{}, map[int]bool{}
	for _, w := range slices.Clone(p.waiting) {
		ref := w.ref()
		if _, is := held.Held[ref]; is || p.way.Backfill.Strict && stopped[w.Queue] {
			continue
		}
		free, pass := p.free, held.Passes[ref]
		key := attempted{shape{w.Ranks, w.GPUs}, w.Queue, pass != nil && len(pass.KeepsOff) > 0}
		if tried[key] {
			continue
		}
		if key.beside {
			free = p.without(pass.KeepsOff)
		}
		inQuota := p.inQuota(w)
		if inQuota {
			if on := free.place(w.Ranks, w.GPUs); on != nil {
				w.pass = pass
				p.start(w, on)
				continue
			}
		}
		tried[key] = true
		if w.blocked < 0 {
			p.blockReserving(w)
		}
		if p.way.Backfill.Strict {
			if inQuota {
				return // it waits for nodes, which all queues share
			}
			stopped[w.Queue] = true
		}
	}
	p.blockAll(held)
}

// blockAll notes since when the gangs that did not start have lacked capacity.
func (p *simulation) blockAll(held reservation.Result) {
	for _, w := range p.waiting {
		h, is := held.Held[w.ref()]
		w.hold = w.hold.Next(is && h.Fits, epoch.Add(p.now))
		p.result.LongestHold = max(p.result.LongestHold, w.hold.Total(epoch.Add(p.now)))
		if w.blocked < 0 {
			p.blockReserving(w)
		}
	}
}

func (p *simulation) blockReserving(w *waiting) {
	w.blocked = p.now
	if p.reserves(w) {
		p.at(p.now+p.way.Backfill.After, func() {})
	}
}

// without some nodes.
func (p *simulation) without(names []string) nodes {
	free := slices.Clone(p.free)
	for i, name := range p.names {
		if _, off := slices.BinarySearch(names, name); off {
			free[i] = 0
		}
	}
	return free
}

func (p *simulation) inQuota(w *waiting) bool {
	return w.Queue >= len(p.quotas) || p.quotas[w.Queue] >= w.Total()
}

// charge a queue's quota, or give it back with sign 1.
func (p *simulation) charge(j *Job, sign int64) {
	if j.Queue < len(p.quotas) {
		p.quotas[j.Queue] += sign * j.Total()
	}
}
