package forecast

import (
	"cmp"
	"slices"
	"time"
)

// maxFirst is the number of gangs that go first that a start names.
const maxFirst = 2

// reasons explains the starts of a play.
type reasons struct {
	*play
	// holders are the gangs without a known end that hold some of a set of nodes, by set.
	holders map[int][]int
	samples samples
}

// start returns the forecast for the gang at a place. soonest is its start if gangs end early.
func (r *reasons) start(place int, soonest time.Duration) Start {
	g := &r.Gangs[r.order[place]]
	s := Start{Gang: r.order[place], Position: r.positions[place], Unknown: g.Unknown}
	at := r.started[place]
	switch {
	case place >= r.limits.Considered || r.needs[place] == nil:
		s.Unknown, s.Position = TooFarAhead, 0
		return s
	case g.Unknown != "":
		return s
	case at != never:
		points, unknown := r.samples.points(place)
		s.Unknown, s.Behind = unknown, r.startsAfter(place)
		if unknown == "" {
			r.judge(&s, points)
			if soonest != never {
				soonest = min(soonest, points.low)
			}
		}
	case r.stopped:
		s.Unknown = TooFarAhead
	default:
		s.Unknown = NoEndKnown
	}
	if s.Unknown == NoEndKnown {
		s.Behind = r.blockers(place)
	}
	if s.Unknown != "" && soonest > 0 {
		s.Earliest = r.Now.Add(soonest)
	}
	return s
}

// judge sets the times of a start if earlier forecasts of its kind held.
func (r *reasons) judge(s *Start, at points) {
	g := &r.Gangs[s.Gang]
	lane := &r.Lanes[g.Lane]
	s.Hits = r.Hits[Kind{lane.Scheduler, PositionsOf(s.Position)}]
	if at.wide() {
		s.Unknown = NotCalibrated
		return
	}
	given := &Interval{
		Earliest: r.Now.Add(at.low), Time: r.Now.Add(at.median), Latest: r.Now.Add(at.high), Spread: lane.Spread,
	}
	if s.Given = given; !s.Hits.calibrated() {
		s.Unknown = NotCalibrated
		return
	}
	s.Earliest, s.Time, s.Latest = given.Earliest, given.Time, given.Latest
	if g.Length.Known() {
		s.End = s.Time.Add(g.Length.Time)
	}
}

// startsAfter lists what happens before the start of a gang: the quota that it lacks now, the gangs that go
// first, and those whose ends free what it needs.
func (r *reasons) startsAfter(place int) []Behind {
	list := r.quota(place)
	list = append(list, r.first(place)...)
	ends := r.after[place]
	ends = slices.Clone(ends[:min(len(ends), MaxBehind-len(list))])
	slices.SortStableFunc(ends, func(a, b int) int { return cmp.Compare(r.ended[a], r.ended[b]) })
	for _, gang := range ends {
		list = append(list, r.describe(place, gang, Ends))
	}
	return list
}

// quota returns the quota that the gang lacks now.
func (r *reasons) quota(place int) []Behind {
	quota, lacks := r.lacking[place]
	if !lacks {
		return nil
	}
	return []Behind{{What: QuotaFree, Name: r.Quotas[quota].Name}}
}

// first returns the gangs with the most GPUs that go first, in the order of service.
func (r *reasons) first(place int) []Behind {
	var places []int
	for other := range place {
		if r.goesFirst(other, place) {
			places = append(places, other)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Compare(r.Gangs[r.order[b]].GPUs, r.Gangs[r.order[a]].GPUs)
	})
	places = places[:min(len(places), maxFirst)]
	slices.Sort(places)
	var list []Behind
	for _, other := range places {
		b := r.describe(place, r.order[other], GoesFirst)
		b.Basis, b.Missing, b.Time = "", "", time.Time{}
		if at := r.started[other]; at != never {
			b.Time = r.Now.Add(at)
		}
		list = append(list, b)
	}
	return list
}

// goesFirst reports whether a gang that is served earlier delays another: it starts first. If the other has
// no start, the first has no start itself in a strict lane, or no end.
func (r *reasons) goesFirst(first, place int) bool {
	gang := &r.Gangs[r.order[place]]
	other, start := &r.Gangs[r.order[first]], r.started[first]
	switch {
	case other.Lane != gang.Lane:
		return false
	case r.started[place] != never:
		return start != never && start <= r.started[place]
	case r.Lanes[gang.Lane].Strict && start == never:
		return true
	}
	return start != never && !other.Length.Known()
}

// describe a gang on which the start of another depends. Only gangs of the same namespace are named.
func (r *reasons) describe(place, gang int, what What) Behind {
	g := &r.Gangs[gang]
	b := Behind{What: what, GPUs: g.GPUs, Missing: g.Length.Missing}
	if g.Namespace == r.Gangs[r.order[place]].Namespace {
		b.Name = g.Name
	}
	if at, ends := r.ended[gang]; ends {
		b.Time, b.Basis = r.Now.Add(at), g.Length.Basis
	}
	return b
}

// blockers lists why a gang does not start: the quota, gangs that go first, and gangs that hold nodes and
// have no known end, those with the most GPUs first.
func (r *reasons) blockers(place int) []Behind {
	gang := &r.Gangs[r.order[place]]
	list := append(r.quota(place), r.first(place)...)
	var gangs []int
	for _, n := range gang.Needs {
		for _, holder := range r.holdersOf(n.Set) {
			if holder != r.order[place] && !slices.Contains(gangs, holder) {
				gangs = append(gangs, holder)
			}
		}
	}
	for _, holder := range gangs[:min(len(gangs), MaxBehind-len(list))] {
		list = append(list, r.describe(place, holder, Ends))
	}
	if len(list) == 0 {
		list = append(list, Behind{What: RoomFree})
	}
	return list
}

// holdersOf returns the running gangs that hold nodes of a set and have no known end, with the most GPUs
// first; at most MaxBehind.
func (r *reasons) holdersOf(set int) []int {
	if known, ok := r.holders[set]; ok {
		return known
	}
	var gangs []int
	for i := range r.Gangs {
		g := &r.Gangs[i]
		if !g.Running || g.Length.Known() {
			continue
		}
		if slices.ContainsFunc(g.Holds, func(h Hold) bool {
			_, in := slices.BinarySearch(r.Sets[set], h.Node)
			return in
		}) {
			gangs = append(gangs, i)
		}
	}
	slices.SortStableFunc(gangs, func(a, b int) int { return cmp.Compare(r.Gangs[b].GPUs, r.Gangs[a].GPUs) })
	gangs = slices.Clip(gangs[:min(len(gangs), MaxBehind)])
	r.holders[set] = gangs
	return gangs
}
