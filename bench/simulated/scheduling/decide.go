package scheduling

import (
	"container/heap"
	"slices"
	"strings"
)

// Decision has the writes of a step, in this order.
type Decision struct {
	Phases    []PhaseOf
	Evictions []Pod
	Binds     []Bind
}

// PhaseOf is the new phase of a gang.
type PhaseOf struct {
	Gang  Gang
	Phase Phase
}

// Bind of a pod to a node.
type Bind struct {
	Pod  Pod
	Node string
}

// Decide what to write. What is decided counts as done.
func (s *State) Decide() Decision {
	var d Decision
	changed := s.changed
	s.changed = nil
	for _, g := range changed {
		g.isChanged = false
		if !g.gone && (g.phase == "" || g.phase == Running && len(g.pods) == 0) {
			g.set(Pending, &d)
			heap.Push(&s.waiting, g)
		}
	}
	s.invite(&d)
	for _, g := range changed {
		s.bind(g, &d)
	}
	return d
}

func (g *gang) set(phase Phase, d *Decision) {
	g.phase = phase
	d.Phases = append(d.Phases, PhaseOf{g.Gang, phase})
}

// invite gangs in their order, up to the first that does not fit.
func (s *State) invite(d *Decision) {
	s.unplaced = slices.DeleteFunc(s.unplaced, func(g *gang) bool {
		return g.gone || s.placed(g)
	})
	for _, g := range s.unplaced {
		s.evict(g, d)
	}
	for len(s.unplaced) == 0 && len(s.waiting) > 0 {
		g := s.waiting[0]
		if !g.gone && !s.placed(g) {
			if !s.evict(g, d) {
				return
			}
			s.unplaced = append(s.unplaced, g)
		}
		heap.Pop(&s.waiting)
		if !g.gone {
			g.set(Inqueue, d)
		}
	}
}

// placed binds a gang to nodes with capacity.
func (s *State) placed(g *gang) bool {
	places, ok := s.nodes.place(g.Ranks, g.GPUs)
	if ok {
		g.places, g.victim = places, nil
		s.touchNow(g)
	}
	return ok
}

// touchNow makes a gang whose pods may all exist already be looked at in the next decision, too.
func (s *State) touchNow(g *gang) {
	if len(g.pods) > 0 {
		s.touch(g)
	}
}

// evict a rank of the gang that has to go for another one. It reports whether there is any.
func (s *State) evict(preemptor *gang, d *Decision) bool {
	if v := preemptor.victim; v != nil && !v.gone && v.phase == Running {
		return true // its ranks are going
	}
	var victim *gang
	for _, g := range s.gangs {
		if g.phase == Running && g.Priority < preemptor.Priority && g.whole() &&
			(victim == nil || victim.before(g) < 0) {
			victim = g
		}
	}
	if victim == nil {
		return false
	}
	preemptor.victim = victim
	d.Evictions = append(d.Evictions, victim.ranks()[0].Pod)
	return true
}

// whole reports whether all ranks are there, and none is ending.
func (g *gang) whole() bool {
	for _, p := range g.pods {
		if p.Ending {
			return false
		}
	}
	return len(g.pods) >= g.Ranks
}

// ranks sorted by their names.
func (g *gang) ranks() []*pod {
	var all []*pod
	for _, p := range g.pods {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pod) int { return strings.Compare(a.Name.Name, b.Name.Name) })
	return all
}

// bind the pods of a gang that has places, once all exist.
func (s *State) bind(g *gang, d *Decision) {
	if g.gone || g.phase != Inqueue || len(g.places) == 0 || !g.whole() {
		return
	}
	for i, p := range g.ranks()[:len(g.places)] {
		p.node = g.places[i]
		p.Node = s.nodes.names[p.node]
		d.Binds = append(d.Binds, Bind{p.Pod, p.Node})
	}
	g.places = nil
	g.set(Running, d)
}

// Undecided reports whether a decision is due: something has changed since the last.
func (s *State) Undecided() bool { return len(s.changed) > 0 }
