package forecast

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// MinSamples and MaxSamples bound the plays with drawn lengths.
const (
	MinSamples = 8
	MaxSamples = 32
)

const (
	// seed of the draws.
	seed = 47
	// maxDeviation of the logarithm of a single length.
	maxDeviation = 1.5
	// resolution of a start: the scheduler, the pods and the operator need that long to notice one. It is the
	// shortest time from the median to the 90% point.
	resolution = time.Minute
	// tooWide: an interval says nothing if its end is that many times as far away as its beginning.
	tooWide = 30
)

// samples are the starts in plays with drawn lengths.
type samples struct {
	// starts by place, one for each sample.
	starts [][]time.Duration
	// endless: in a sample the gang at a place does not start, whatever the horizon.
	endless []bool
}

// playSamples makes the plays. All lengths that are not measured have one common factor in each, because the
// errors of many gangs go together: the users of a lane are all more or less patient than their past.
func playSamples(s *Snapshot, q *queue, l Limits) samples {
	considered := min(l.Considered, len(q.order))
	all := samples{starts: make([][]time.Duration, considered), endless: make([]bool, considered)}
	d := newDraws(s, min(max(l.Samples, MinSamples), MaxSamples))
	for sample := range d.normals {
		p := newPlay(s, q, l, func(gang int) (time.Duration, bool) { return d.length(gang, sample) })
		p.run()
		for place := range considered {
			at := p.started[place]
			all.starts[place] = append(all.starts[place], at)
			all.endless[place] = all.endless[place] || at == never && !p.stopped
		}
	}
	return all
}

// points are the 10%, 50% and 90% points of a start, since Now.
type points struct{ low, median, high time.Duration }

// points of a start; or why they are unknown. A start has none if it depends on an unknown end in any sample.
func (a *samples) points(place int) (points, Unknown) {
	if a.endless[place] {
		return points{}, NoEndKnown
	}
	starts := slices.Clone(a.starts[place])
	for i, at := range starts {
		if at == never {
			starts[i] = math.MaxInt64
		}
	}
	slices.Sort(starts)
	n := len(starts)
	p := points{starts[n/10], starts[(n-1)/2], starts[n-1-n/10]}
	p.median += (starts[n/2] - p.median) / 2
	if p.high == math.MaxInt64 {
		return points{}, TooFarAhead
	}
	p.high = max(p.high, p.median+resolution)
	return p, ""
}

// wide reports whether the interval says too little.
func (p points) wide() bool { return p.high > tooWide*max(p.low, resolution) }

// draws of lengths. Each length takes each of the same quantiles once over all samples, in an order that
// depends on the gang's name only. So gangs that come and go do not change the draws of the others.
type draws struct {
	*Snapshot
	// normals are quantiles of the normal distribution, one for each sample.
	normals []float64
	// orders of the quantiles, by gang; nil: not drawn yet.
	orders [][]uint8
}

func newDraws(s *Snapshot, n int) *draws {
	d := &draws{Snapshot: s, orders: make([][]uint8, len(s.Gangs))}
	for i := range n {
		share := (float64(i) + 0.5) / float64(n)
		d.normals = append(d.normals, math.Sqrt2*math.Erfinv(2*share-1))
	}
	return d
}

// length of a gang in a sample; false: it has no end.
func (d *draws) length(gang, sample int) (time.Duration, bool) {
	g := &d.Gangs[gang]
	if !g.Length.Known() {
		return 0, false
	}
	if d.orders[gang] == nil {
		d.orders[gang] = orderOf(g, len(d.normals))
	}
	own, common := d.normals[d.orders[gang][sample]], d.normals[sample]*d.Lanes[g.Lane].Spread
	return g.Length.drawn(own, common), true
}

// orderOf the quantiles of a gang.
func orderOf(g *Gang, n int) []uint8 {
	h := fnv.New64a()
	h.Write([]byte(g.Namespace + "/" + g.Name))
	r := rand.New(rand.NewPCG(h.Sum64(), seed))
	order := make([]uint8, n)
	for i := range order {
		order[i] = uint8(i)
	}
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// drawn returns a length whose logarithm lies own standard deviations from that of Time; without measured
// steps also by a common amount. Nothing exceeds the deadline.
func (l Length) drawn(own, common float64) time.Duration {
	by := own * l.deviation()
	if !l.measured() {
		by += common
	}
	t := min(float64(l.Time)*math.Exp(by), float64(maxLength))
	if l.Most > 0 {
		t = min(t, float64(l.Most))
	}
	return time.Duration(t)
}

// measured reports whether the errors of other lengths say nothing about this one. That holds also for the
// deadline of a plan, and for a deadline that comes before the last step.
func (l Length) measured() bool {
	return l.Basis == BasisSteps || l.Basis == "" || l.Basis == BasisDeadline && l.Low >= l.Time
}

// deviation of the logarithm, so that nine of ten lengths exceed Low. A length without basis is sure.
func (l Length) deviation() float64 {
	switch {
	case l.Basis == "" || l.Time <= l.Low:
		return 0
	case l.Low <= 0:
		return maxDeviation
	}
	return min(maxDeviation, math.Log(float64(l.Time)/float64(l.Low))/lowPoint)
}
