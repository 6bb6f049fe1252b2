package sim

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Way to preempt.
type Way struct {
	Name string
	// Order in which a scheduler takes victims; with a Policy only where the planner hands over.
	Order Order
	// Policy of the planner; nil: the scheduler chooses alone. MaxDelay is how long it may ask; 0: it only
	// chooses.
	Policy   *preemption.Policy
	MaxDelay time.Duration
	// Backfill replaces preemption; nil: urgent gangs preempt.
	Backfill *Backfill
	// Forecasts are given to gangs that wait, in these ways.
	Forecasts []Forecasting
}

// waiting is a gang that has no GPUs.
type waiting struct {
	*Job
	base time.Duration
	// attempts that it had; the first is not a resumption.
	attempts int32
	// blocked is the time since when it does not fit; negative while unknown.
	blocked time.Duration
	// claim is the capacity that is reserved for it while victims end.
	claim map[int]int
	// freed is what its victims had, and since when that waits for it.
	freed []freed
	// planned is when the planner chose for it.
	planned time.Duration
	// handedOver: the planner has given up on this attempt.
	handedOver bool
	// reservation, pass and hold are what its status has.
	reservation *reservation.Reservation
	pass        *reservation.Pass
	hold        reservation.Hold
	// forecast is true once it has its first forecast.
	forecast bool
}

// freed GPUs of a victim.
type freed struct {
	gpus int64
	at   time.Duration
}

type simulation struct {
	way     Way
	now     time.Duration
	free    nodes
	names   []string
	waiting []*waiting
	running map[int]*run
	attempt map[int]int32
	// preemptor of a run that is being ended, by the run's ID.
	ending map[int]*waiting
	plans  []preemption.Plan
	events events
	added  int
	// finished is the work of all gangs that have finished.
	finished time.Duration
	random   *rand.Rand
	result   Result

	seed   uint64
	faults Faults
	// quotas are the free GPUs of each queue, ran the time for which each gang ran, recalls how often it left
	// lent capacity, and lost the nodes that are under repair.
	quotas  []int64
	ran     map[int]time.Duration
	recalls map[int]int
	lost    map[int]bool
	shapes  map[shape][]preemption.Need
	again   time.Duration

	// lengths of the gangs that finished, by GPUs; gap is the mean time between two starts, of which so many
	// began, and started the last one.
	forecasters  []*forecaster
	queues       int
	lengths      map[int64][]time.Duration
	starts       int
	gap, started time.Duration
}

// Play gangs on a cluster, until all have finished.
func Play(s Shape, jobs []Job, way Way, seed uint64) Result {
	p := newSimulation(s, jobs, way, seed)
	for p.step() {
	}
	for _, f := range p.forecasters {
		p.result.Forecasts = append(p.result.Forecasts, f.done)
	}
	return p.result
}

func newSimulation(s Shape, jobs []Job, way Way, seed uint64) *simulation {
	p := &simulation{
		way: way, free: make(nodes, s.Nodes), running: map[int]*run{}, attempt: map[int]int32{},
		ending: map[int]*waiting{}, random: rand.New(rand.NewPCG(seed, 2)), seed: seed, faults: s.Faults,
		quotas: slices.Clone(s.Quotas), ran: map[int]time.Duration{}, recalls: map[int]int{},
		lost: map[int]bool{}, shapes: map[shape][]preemption.Need{}, again: -1,
		forecasters: newForecasters(way.Forecasts), lengths: map[int64][]time.Duration{},
	}
	for i := range p.free {
		p.free[i] = s.GPUsPerNode
		p.names = append(p.names, nodeName(i))
	}
	for i := range jobs {
		j := &jobs[i]
		p.queues = max(p.queues, j.Queue+1)
		p.at(j.Arrives, func() { p.queue(&waiting{Job: j, blocked: -1}) })
	}
	if s.For > 0 {
		p.at(s.For, p.sumUseful)
	}
	p.breakNodes(s)
	return p
}

// sumUseful adds what all gangs have done so far to what those that have finished did.
func (p *simulation) sumUseful() {
	sum := p.finished
	for _, r := range p.running {
		until := p.now
		if r.asked >= 0 {
			until = r.asked
		}
		done, _ := r.at(until)
		sum += time.Duration(r.Total()) * done
	}
	for _, w := range p.waiting {
		sum += time.Duration(w.Total()) * w.base
	}
	p.result.Useful = sum
}

// step plays all that happens at the next time; false: nothing does any more.
func (p *simulation) step() bool {
	if len(p.events) == 0 {
		return false
	}
	p.now = p.events[0].at
	for len(p.events) > 0 && p.events[0].at == p.now {
		heap.Pop(&p.events).(*event).do()
	}
	p.schedule()
	p.forecast()
	p.result.Makespan = p.now
	return true
}

func (p *simulation) at(when time.Duration, do func()) {
	p.added++
	heap.Push(&p.events, &event{at: max(when, p.now), nth: p.added, do: do})
}

func (p *simulation) queue(w *waiting) {
	i, _ := slices.BinarySearchFunc(p.waiting, w, func(a, b *waiting) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Arrives, b.Arrives), cmp.Compare(a.ID, b.ID))
	})
	p.waiting = slices.Insert(p.waiting, i, w)
}

// schedule starts gangs that fit, in order of value and age, and preempts for those that may preempt.
func (p *simulation) schedule() {
	if p.way.Backfill != nil {
		p.serve()
		return
	}
	p.startThoseThatFit()
	if p.way.Policy != nil {
		p.plan()
	}
	for _, w := range slices.Clone(p.waiting) {
		if w.Value == High && w.claim == nil && w.blocked >= 0 && (p.way.Policy == nil || w.handedOver) {
			p.preempt(w)
		}
	}
}

// shape of a gang: another one of it does not fit either.
type shape struct {
	ranks int
	gpus  int64
}

func (p *simulation) startThoseThatFit() {
	tried := map[shape]bool{}
	for _, w := range slices.Clone(p.waiting) {
		key := shape{w.Ranks, w.GPUs}
		if w.claim == nil && tried[key] {
			p.block(w)
			continue
		}
		if on := p.availableTo(w).place(w.Ranks, w.GPUs); on != nil {
			p.start(w, on)
			continue
		}
		tried[key] = tried[key] || w.claim == nil
		p.block(w)
	}
}

func (p *simulation) block(w *waiting) {
	if w.blocked < 0 {
		w.blocked = p.now
		if w.Value == High && p.way.Policy != nil {
			p.at(p.now+p.way.Policy.Patience, func() {})
		}
	}
}

// availableTo a gang is what is free and not reserved for another gang.
func (p *simulation) availableTo(w *waiting) nodes {
	free := slices.Clone(p.free)
	for _, other := range p.waiting {
		if other != w {
			free.add(other.claim, other.GPUs, -1)
		}
	}
	return free
}

func (p *simulation) start(w *waiting, on map[int]int) {
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiting) bool { return o == w })
	p.free.add(on, w.GPUs, -1)
	p.attempt[w.ID] = w.attempts + 1
	p.charge(w.Job, -1)
	r := &run{Job: w.Job, base: w.base, began: p.now, on: on, asked: -1, pass: w.pass}
	if p.way.Policy != nil || p.way.Backfill != nil && p.way.Backfill.Policy != nil {
		r.holds = p.holds(on, w.GPUs)
		if w.Queue < len(p.quotas) {
			r.holds[quotaName(w.Queue)] = scheduler.Amounts{gpu: w.Total()}
		}
	}
	p.running[w.ID] = r
	p.result.started(w, p.now)
	p.countGap()
	for _, f := range p.forecasters {
		f.starts(w.ID, p.now)
	}
	r.deadline = p.now + w.Deadline - p.ran[w.ID]
	p.at(r.finishes(), func() {
		if p.running[w.ID] == r && r.asked < 0 {
			p.end(r)
			p.ended(w.Job)
			p.finished += time.Duration(w.Total()) * w.Work
			p.result.finished(w.Job, p.now)
		}
	})
	if w.Deadline > 0 && r.deadline < r.finishes() {
		p.at(r.deadline, func() { p.expire(r) })
	}
	p.failLater(r)
}

// expire ends a run whose deadline is over.
func (p *simulation) expire(r *run) {
	if !r.ended {
		p.end(r)
		p.result.Expired++
	}
}

// end a run: its GPUs are free.
func (p *simulation) end(r *run) {
	r.ended = true
	p.ran[r.ID] += p.now - r.began
	p.charge(r.Job, 1)
	delete(p.running, r.ID)
	p.free.add(r.on, r.GPUs, 1)
	if w := p.ending[r.ID]; w != nil {
		delete(p.ending, r.ID)
		w.freed = append(w.freed, freed{r.Total(), p.now})
		if p.way.Policy != nil && !w.handedOver {
			p.result.Asking = max(p.result.Asking, p.now-w.planned)
		}
	}
}

// preempt as a scheduler does.
func (p *simulation) preempt(w *waiting) {
	free := p.availableTo(w)
	var lesser []*run
	for _, id := range sortedKeys(p.running) {
		if r := p.running[id]; r.Value < w.Value && r.asked < 0 {
			lesser = append(lesser, r)
		}
	}
	victims := p.way.Order.choose(free, lesser, w.Job, p.random)
	if victims == nil {
		return
	}
	for _, v := range victims {
		free.add(v.on, v.GPUs, 1)
	}
	w.claim = free.place(w.Ranks, w.GPUs)
	for _, v := range victims {
		p.ending[v.ID] = w
		p.kill(v)
	}
}

// kill stops a run, which saves first if it saves at SIGTERM.
func (p *simulation) kill(r *run) {
	if r.SavesAtEnd {
		p.saveAndEnd(r, p.now, p.now+r.Save)
		return
	}
	done, saved := r.at(p.now)
	r.asked = p.now
	p.result.lost(r, done-saved)
	p.at(p.now, func() { p.end(r); p.resume(r, saved) })
}

// saveAndEnd from a time on. A save that is not done by another time is lost.
func (p *simulation) saveAndEnd(r *run, from, by time.Duration) {
	if from >= r.finishes() { // it finishes before that
		return
	}
	r.asked = from
	done, saved := r.at(from)
	ends, resumes := from+r.Save, done
	if by < ends {
		ends, resumes = max(from, by), saved
		p.result.lost(r, done-saved)
	}
	p.result.idle(r.Total(), ends-from)
	p.at(ends, func() { // it may have failed since
		if !r.ended {
			p.end(r)
			p.resume(r, resumes)
		}
	})
}

func (p *simulation) resume(r *run, saved time.Duration) {
	p.result.Preemptions++
	p.requeue(r, saved)
}

func (p *simulation) requeue(r *run, saved time.Duration) {
	p.queue(&waiting{Job: r.Job, base: saved, attempts: p.attempt[r.ID], blocked: -1, forecast: true})
}

type event struct {
	at  time.Duration
	nth int
	do  func()
}

// events by time, and in the order in which they were added.
type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].nth, e[j].nth)) < 0
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
