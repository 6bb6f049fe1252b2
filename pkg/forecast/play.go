package forecast

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Forecast returns the start of every waiting gang, in the order of service.
func Forecast(s *Snapshot, l Limits) []Start {
	q := newQueue(s)
	likely := newLikely(s, q, l)
	likely.run()
	soonest := newPlay(s, q, l, func(i int) (time.Duration, bool) { return s.Gangs[i].Length.Low, true })
	soonest.run()
	starts := make([]Start, len(q.order))
	reasons := &reasons{play: likely, holders: map[int][]int{}, samples: playSamples(s, q, l)}
	for place := range q.order {
		starts[place] = reasons.start(place, soonest.started[place])
	}
	return starts
}

// never is the start of a gang that does not start.
const never = time.Duration(-1)

// play of one future.
type play struct {
	*Snapshot
	*queue
	limits   Limits
	length   func(gang int) (time.Duration, bool)
	capacity *capacity
	quotas   []Amounts
	ends     ends
	// started is when gangs start, by place, since Now; never: they do not.
	started []time.Duration
	// ended is when gangs end, by index in the snapshot; absent: they do not, or have not started.
	ended map[int]time.Duration
	// leaver is the gang that left a node last, by node; -1: none has yet.
	leaver []int32
	// after are the gangs whose ends made room for a considered gang, by place: the last one first.
	after map[int][]int
	// lines are the play's own copy, and heads their next gangs while it serves them.
	lines []line
	heads []head
	// quota that a considered gang lacks at first, by place.
	lacking map[int]int
	// waiting counts the considered gangs that have not started.
	waiting int
	// stopped is set if the play reached the horizon.
	stopped bool
}

// newLikely returns the play in which each length is as expected.
func newLikely(s *Snapshot, q *queue, l Limits) *play {
	return newPlay(s, q, l, func(gang int) (time.Duration, bool) {
		return s.Gangs[gang].Length.Time, s.Gangs[gang].Length.Known()
	})
}

func newPlay(s *Snapshot, q *queue, l Limits, length func(gang int) (time.Duration, bool)) *play {
	p := &play{
		Snapshot: s, queue: q, limits: l, length: length, capacity: newCapacity(s, q.shapes),
		started: make([]time.Duration, len(q.order)), ended: map[int]time.Duration{}, after: map[int][]int{},
		waiting: min(l.Considered, len(q.order)), leaver: make([]int32, len(s.Nodes)),
		lines: slices.Clone(q.lines), lacking: map[int]int{},
	}
	for i := range p.started {
		p.started[i] = never
	}
	for i := range s.Quotas {
		p.quotas = append(p.quotas, s.Quotas[i].Free)
	}
	for i := range p.leaver {
		p.leaver[i] = -1
	}
	for i := range s.Gangs {
		if g := &s.Gangs[i]; g.Running {
			p.finishes(i, 0, g.Holds)
		}
	}
	return p
}

// finishes adds the end of a gang that runs from a time on, unless it is unknown.
func (p *play) finishes(gang int, from time.Duration, holds []Hold) {
	if length, known := p.length(gang); known {
		heap.Push(&p.ends, end{from + max(0, length), gang, holds})
	}
}

// run the play until the considered gangs have started, the horizon is reached, or nothing ends any more.
func (p *play) run() {
	p.serve(0, -1)
	p.noteQuotas()
	for p.waiting > 0 && p.ends.Len() > 0 {
		at, last := p.ends[0].at, 0
		if at > p.limits.Horizon {
			p.stopped = true
			return
		}
		for p.ends.Len() > 0 && p.ends[0].at == at {
			e := heap.Pop(&p.ends).(end)
			p.ended[e.gang], last = at, e.gang
			p.leave(e)
			p.use(p.Gangs[e.gang].Uses, 1)
		}
		p.serve(at, last)
	}
}

// leave frees what a gang held.
func (p *play) leave(e end) {
	p.capacity.release(e.holds)
	for i := range e.holds {
		p.leaver[e.holds[i].Node] = int32(e.gang)
	}
}

// noteQuotas keeps which quota each considered gang lacks now.
func (p *play) noteQuotas() {
	for place, gang := range p.order[:min(p.limits.Considered, len(p.order))] {
		if quota := p.lacks(&p.Gangs[gang]); quota >= 0 && p.started[place] == never {
			p.lacking[place] = quota
		}
	}
}

// serve starts the gangs that fit, in the order of service. cause is the gang whose end freed capacity.
func (p *play) serve(at time.Duration, cause int) {
	p.capacity.forget()
	p.collectHeads()
	for i := p.nextHead(); i >= 0; i = p.nextHead() {
		h := &p.heads[i]
		l := &p.lines[h.line]
		if p.begin(int(h.place), at, cause) {
			l.next++
			if l.next < len(l.gangs) {
				h.place = l.gangs[l.next]
				continue
			}
		}
		p.heads = slices.Delete(p.heads, i, i+1)
	}
}

// nextHead removes the heads that do not fit any more, and returns the index of the one that is served first;
// -1: there is none.
func (p *play) nextHead() int {
	kept, first := p.heads[:0], -1
	for _, h := range p.heads {
		if !p.fits(int(h.place)) {
			continue
		}
		if kept = append(kept, h); first < 0 || h.place < kept[first].place {
			first = len(kept) - 1
		}
	}
	p.heads = kept
	return first
}

// collectHeads gathers the next gangs of the lines that can have capacity.
func (p *play) collectHeads() {
	p.heads = p.heads[:0]
	add := func(i int32) {
		if l := &p.lines[i]; l.next < len(l.gangs) {
			p.heads = append(p.heads, head{l.gangs[l.next], i})
		}
	}
	for _, i := range p.strict {
		add(i)
	}
	for i := range p.groups {
		g := &p.groups[i]
		most := p.capacity.most(g.shape)
		for j, line := range g.lines {
			if g.ranks[j] > most {
				break
			}
			add(line)
		}
	}
}

// fits reports whether the gang at a place seems to fit.
func (p *play) fits(place int) bool {
	return p.capacity.fits(p.needs[place]) && p.lacks(&p.Gangs[p.order[place]]) < 0
}

// lacks returns the first quota that has too little free for a gang; -1: none.
func (p *play) lacks(g *Gang) int {
	if g.Admitted {
		return -1
	}
	for _, u := range g.Uses {
		limited := &p.Quotas[u.Quota].Limited
		for r, n := range u.Amounts {
			if limited[r] && n > 0 && p.quotas[u.Quota][r] < n {
				return u.Quota
			}
		}
	}
	return -1
}

func (p *play) use(uses []Use, sign int64) {
	for _, u := range uses {
		for r, n := range u.Amounts {
			p.quotas[u.Quota][r] += sign * n
		}
	}
}

// begin starts a gang, and reports whether it fits.
func (p *play) begin(place int, at time.Duration, cause int) bool {
	holds, ok := p.capacity.place(p.needs[place])
	if !ok {
		return false
	}
	if g := &p.Gangs[p.order[place]]; !g.Admitted {
		p.use(g.Uses, -1)
	}
	p.started[place] = at
	if place < p.limits.Considered {
		p.waiting--
		p.after[place] = p.leavers(holds, cause)
	}
	p.finishes(p.order[place], at, holds)
	return true
}

// leavers returns the gangs that left the nodes of the holds: first the cause, then the latest ones.
func (p *play) leavers(holds []Hold, cause int) []int {
	if cause < 0 {
		return nil
	}
	gangs := []int{cause}
	for i := range holds {
		if gang := int(p.leaver[holds[i].Node]); gang >= 0 && !slices.Contains(gangs, gang) {
			gangs = append(gangs, gang)
		}
	}
	slices.SortStableFunc(gangs[1:], func(a, b int) int {
		return cmp.Or(cmp.Compare(p.ended[b], p.ended[a]), cmp.Compare(a, b))
	})
	return gangs[:min(len(gangs), MaxBehind)]
}

// end of a gang in a play.
type end struct {
	at    time.Duration
	gang  int
	holds []Hold
}

// ends are sorted by time, then by the gang's index: the same snapshot gives the same play.
type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].gang < e[j].gang
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// head is the next gang of a line, by its place in the order of service.
type head struct{ place, line int32 }
