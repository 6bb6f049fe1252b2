package forecast

import (
	"cmp"
	"slices"
	"strings"
)

// line is waiting gangs of a lane of which only the first can be next: all need the same, or the lane is
// strict.
type line struct {
	lane   int
	strict bool
	// gangs by their place in the order of service, and how many of them have started.
	gangs []int32
	next  int
}

// group is lines whose gangs begin with a need of the same shape, the smallest need first.
type group struct {
	shape int32
	lines []int32
	// ranks of the first needs, by line.
	ranks []int64
}

// queue is all waiting gangs of a play.
type queue struct {
	// order has the indices of the waiting gangs, first served first.
	order []int
	// positions within the lanes, from 1, in this order.
	positions []int
	shapes    []shape
	lines     []line
	groups    []group
	// strict are the lines of strict lanes.
	strict []int32
	// needs by place in the order; nil: the gang is not played.
	needs [][]need
}

// newQueue sorts the waiting gangs, and forms lines of those that can be played.
func newQueue(s *Snapshot) *queue {
	q := &queue{}
	for i := range s.Gangs {
		if !s.Gangs[i].Running {
			q.order = append(q.order, i)
		}
	}
	slices.SortFunc(q.order, func(a, b int) int { return s.compare(a, b) })
	shapes, lines := map[shape]int32{}, map[string]int32{}
	inLane := make([]int, len(s.Lanes))
	for place, i := range q.order {
		g := &s.Gangs[i]
		inLane[g.Lane]++
		q.positions = append(q.positions, inLane[g.Lane])
		q.needs = append(q.needs, q.needsOf(g, shapes))
		if q.needs[place] != nil {
			q.join(g, place, s.Lanes[g.Lane].Strict, lines)
		}
	}
	q.formGroups()
	return q
}

// compare two waiting gangs by the order of service.
func (s *Snapshot) compare(a, b int) int {
	x, y := &s.Gangs[a], &s.Gangs[b]
	return cmp.Or(cmp.Compare(y.Value, x.Value), x.Since.Compare(y.Since),
		strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
}

// needsOf returns the needs of a gang by their shapes; nil: it is too far ahead, or there are too
// many shapes.
func (q *queue) needsOf(g *Gang, shapes map[shape]int32) []need {
	if g.Unknown == TooFarAhead {
		return nil
	}
	needs := make([]need, 0, len(g.Needs))
	for _, n := range g.Needs {
		sh := shape{n.Requests, n.Set}
		i, known := shapes[sh]
		if !known {
			if len(q.shapes) == maxShapes {
				return nil
			}
			i = int32(len(q.shapes))
			shapes[sh] = i
			q.shapes = append(q.shapes, sh)
		}
		needs = append(needs, need{i, n.Ranks})
	}
	return needs
}

// join adds a gang to the line of its kind, or to that of its strict lane.
func (q *queue) join(g *Gang, place int, strict bool, lines map[string]int32) {
	key := keyOf(g, q.needs[place])
	if strict {
		key = keyOf(&Gang{Lane: g.Lane}, nil)
	}
	i, known := lines[key]
	if !known {
		i = int32(len(q.lines))
		lines[key] = i
		q.lines = append(q.lines, line{lane: g.Lane, strict: strict})
	}
	q.lines[i].gangs = append(q.lines[i].gangs, int32(place))
}

// formGroups sorts the lines into groups. A gang without needs, all of whose ranks are placed, is like one of
// a strict lane: it is always examined.
func (q *queue) formGroups() {
	byShape := make([]group, len(q.shapes))
	for i := range q.lines {
		l := &q.lines[i]
		if needs := q.needs[l.gangs[0]]; l.strict || len(needs) == 0 {
			q.strict = append(q.strict, int32(i))
		} else {
			g := &byShape[needs[0].shape]
			g.shape, g.lines = needs[0].shape, append(g.lines, int32(i))
		}
	}
	for _, g := range byShape {
		if len(g.lines) > 0 {
			slices.SortStableFunc(g.lines, func(a, b int32) int { return cmp.Compare(q.ranks(a), q.ranks(b)) })
			for _, line := range g.lines {
				g.ranks = append(g.ranks, q.ranks(line))
			}
			q.groups = append(q.groups, g)
		}
	}
}

// ranks of the first need of a line that is not strict.
func (q *queue) ranks(line int32) int64 { return q.needs[q.lines[line].gangs[0]][0].ranks }

// keyOf returns equal keys for gangs of a lane with the same needs and uses.
func keyOf(g *Gang, needs []need) string {
	var b strings.Builder
	put := func(n int64) {
		for range 8 {
			b.WriteByte(byte(n))
			n >>= 8
		}
	}
	put(int64(g.Lane))
	for _, n := range needs {
		put(int64(n.shape))
		put(n.ranks)
	}
	put(-1)
	if g.Admitted {
		put(1)
	}
	for _, u := range g.Uses {
		put(int64(u.Quota))
		for _, n := range u.Amounts {
			put(n)
		}
	}
	return b.String()
}
