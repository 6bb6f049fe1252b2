package forecast

import (
	"math"
	"slices"
)

// maxShapes bounds the distinct requests of ranks in a play. Gangs with others are not played.
const maxShapes = 512

// shape is ranks with the same requests on the same set of nodes.
type shape struct {
	requests Amounts
	set      int
}

// capacity of the nodes during a play. It keeps what all nodes have free together, and for each shape how
// many ranks each node can take. The latter is brought up to date only for shapes that the former admits: in
// a full cluster, few.
type capacity struct {
	free []Amounts
	// total of the free amounts of all nodes.
	total  Amounts
	shapes []shapeCapacity
	// changed are the nodes whose free amounts changed, in the order of the changes.
	changed []int32
	// buckets are reused by each choice of nodes.
	buckets [maxBucket + 1][]int32
}

type shapeCapacity struct {
	shape
	// resources with a request.
	resources []int
	nodes     []int32
	// seen is how many of the changes fits has.
	seen int
	// on is true for its nodes.
	on []bool
	// fits is how many ranks a node can take, by node; total is their sum.
	fits  []int32
	total int64
}

// maxChanges bounds the memory of the changes.
const maxChanges = 1 << 20

// maxBucket: nodes that can take as many ranks or more count as equal.
const maxBucket = 64

func newCapacity(s *Snapshot, shapes []shape) *capacity {
	c := &capacity{free: slices.Clone(s.Nodes)}
	for i := range c.free {
		for r, n := range c.free[i] {
			c.total[r] += max(0, n)
		}
	}
	for _, sh := range shapes {
		sc := shapeCapacity{
			shape: sh, nodes: s.Sets[sh.set], fits: make([]int32, len(s.Nodes)), on: make([]bool, len(s.Nodes)),
		}
		for r, n := range sh.requests {
			if n > 0 {
				sc.resources = append(sc.resources, r)
			}
		}
		for _, node := range sc.nodes {
			sc.on[node] = true
			sc.update(node, &c.free[node])
		}
		c.shapes = append(c.shapes, sc)
	}
	return c
}

// fit returns how many ranks fit into free amounts, at most a million.
func (s *shapeCapacity) fit(free *Amounts) int32 {
	n := int64(1_000_000)
	for _, r := range s.resources {
		n = min(n, max(0, free[r])/s.requests[r])
	}
	return int32(n)
}

// add amounts to a node's free ones, or subtract them with sign -1.
func (c *capacity) add(node int32, amounts *Amounts, sign int64) {
	free := &c.free[node]
	for r, n := range amounts {
		if n != 0 {
			before := max(0, free[r])
			free[r] += sign * n
			c.total[r] += max(0, free[r]) - before
		}
	}
	c.changed = append(c.changed, node)
}

// update how many ranks a node can take.
func (s *shapeCapacity) update(node int32, free *Amounts) {
	fits := s.fit(free)
	s.total += int64(fits - s.fits[node])
	s.fits[node] = fits
}

// current returns the capacity for a shape, after the changes of nodes.
func (c *capacity) current(i int32) *shapeCapacity {
	s := &c.shapes[i]
	if s.seen == len(c.changed) {
		return s
	}
	if len(c.changed)-s.seen > len(s.nodes) {
		for _, node := range s.nodes {
			s.update(node, &c.free[node])
		}
	} else {
		for _, node := range c.changed[s.seen:] {
			if s.on[node] {
				s.update(node, &c.free[node])
			}
		}
	}
	s.seen = len(c.changed)
	return s
}

// forget the changes, if there are many, after each shape has them.
func (c *capacity) forget() {
	if len(c.changed) < maxChanges {
		return
	}
	for i := range c.shapes {
		c.current(int32(i)).seen = 0
	}
	c.changed = c.changed[:0]
}

// most returns a bound of the ranks of a shape that the free amounts of all nodes together admit.
func (c *capacity) most(i int32) int64 {
	s := &c.shapes[i]
	n := int64(math.MaxInt64)
	for _, r := range s.resources {
		n = min(n, c.total[r]/s.requests[r])
	}
	return n
}

// take places ranks of a shape, on the fullest nodes first, and returns what they hold. All of them fit.
func (c *capacity) take(i int32, ranks int64) []Hold {
	s := c.current(i)
	for b := range c.buckets {
		c.buckets[b] = c.buckets[b][:0]
	}
	for _, node := range s.nodes {
		if fits := min(s.fits[node], maxBucket); fits > 0 {
			c.buckets[fits] = append(c.buckets[fits], node)
		}
	}
	var holds []Hold
	for b := 1; b < len(c.buckets) && ranks > 0; b++ {
		for _, node := range c.buckets[b] {
			if ranks == 0 {
				break
			}
			n := min(ranks, int64(s.fits[node]))
			ranks -= n
			h := Hold{Node: node}
			for _, r := range s.resources {
				h.Amounts[r] = n * s.requests[r]
			}
			holds = append(holds, h)
		}
	}
	for h := range holds {
		c.add(holds[h].Node, &holds[h].Amounts, -1)
	}
	return holds
}

// need is a gang's need by the index of its shape.
type need struct {
	shape int32
	ranks int64
}

// fits reports whether all needs of a gang seem to fit. It is exact for one need.
func (c *capacity) fits(needs []need) bool {
	for _, n := range needs {
		if c.current(n.shape).total < n.ranks {
			return false
		}
	}
	return true
}

// place all needs of a gang and return what it holds; false: they do not fit.
func (c *capacity) place(needs []need) ([]Hold, bool) {
	var holds []Hold
	for _, n := range needs {
		if c.current(n.shape).total < n.ranks {
			c.release(holds)
			return nil, false
		}
		holds = append(holds, c.take(n.shape, n.ranks)...)
	}
	return holds, true
}

func (c *capacity) release(holds []Hold) {
	for i := range holds {
		c.add(holds[i].Node, &holds[i].Amounts, 1)
	}
}
