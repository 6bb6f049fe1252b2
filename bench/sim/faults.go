package sim

import (
	"math/rand/v2"
	"time"
)

// Faults of a cluster; zero times mean none.
type Faults struct {
	// GPUTime is the mean GPU time between two failures of gangs. A gang that fails restarts from its last save.
	GPUTime time.Duration
	// NodeTime is the mean time between two losses of one node, and Repair how long it is lost.
	NodeTime, Repair time.Duration
}

// after draws an exponential time.
func after(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// breakNodes until gangs cease to arrive.
func (p *simulation) breakNodes(s Shape) {
	if s.Faults.NodeTime == 0 {
		return
	}
	for i := range p.free {
		r := rand.New(rand.NewPCG(p.seed, uint64(i)+7_000_000))
		for t := after(r, s.Faults.NodeTime); t < s.For; t += s.Faults.Repair + after(r, s.Faults.NodeTime) {
			p.at(t, func() { p.loseNode(i, s) })
		}
	}
}

func (p *simulation) loseNode(node int, s Shape) {
	for _, id := range sortedKeys(p.running) {
		if r := p.running[id]; r.on[node] > 0 {
			p.fail(r)
		}
	}
	p.free[node] -= s.GPUsPerNode
	p.lost[node] = true
	p.at(p.now+s.Faults.Repair, func() {
		p.free[node] += s.GPUsPerNode
		delete(p.lost, node)
	})
}

// fail a run, which restarts from its last save. One that already saves on request loses that save.
func (p *simulation) fail(r *run) {
	if r.ended {
		return
	}
	until := p.now
	if r.asked >= 0 {
		until = min(until, r.asked)
	}
	done, saved := r.at(until)
	p.result.lost(r, done-saved)
	p.result.Failures++
	p.end(r)
	p.requeue(r, saved)
}

// failLater draws when a run fails.
func (p *simulation) failLater(r *run) {
	if p.faults.GPUTime == 0 {
		return
	}
	random := rand.New(rand.NewPCG(p.seed<<20+uint64(r.ID), uint64(p.attempt[r.ID])))
	p.at(p.now+after(random, p.faults.GPUTime/time.Duration(r.Total())), func() { p.fail(r) })
}
