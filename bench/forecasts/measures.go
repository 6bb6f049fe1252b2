package forecasts

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// Share of some things: N of Of.
type Share struct{ N, Of int }

func (s *Share) add(is bool) {
	s.Of++
	if is {
		s.N++
	}
}

// Measures of one way to forecast, over all seeds.
type Measures struct {
	Way string
	// Waited is the number of gangs that got a forecast of any kind.
	Waited int
	// Has are the gangs with an interval, Held those of them that started in it. Shown are the gangs whose
	// interval users see, ShownHeld those of them that started in it.
	Has, Held, Shown, ShownHeld Share
	// HeldBy the place in the queue.
	HeldBy map[forecast.Positions]*Share
	// Width is the median ratio of the latest to the earliest point, Error that of the error to the wait.
	Width, Error float64
	// Pinball is the mean loss of the three points, in hours.
	Pinball float64
	// Rivals that say a single time for the same gangs.
	ByGap, ByFirstEnd Rival
}

// Rival is a simple forecast of a single time.
type Rival struct {
	Known          Share
	Error, Pinball float64
}

// least wait in ratios: the resolution of a start.
const least = time.Minute

func measure(way string, given []sim.Forecast) Measures {
	m := Measures{Way: way, Waited: len(given), HeldBy: map[forecast.Positions]*Share{}}
	var widths, errors, losses []float64
	gap, end := rival{}, rival{}
	for i := range given {
		f := &given[i]
		m.Has.add(f.Has)
		m.Shown.add(f.Shown)
		if f.Shown {
			m.ShownHeld.add(f.Held())
		}
		if !f.Has {
			continue
		}
		m.Held.add(f.Held())
		if m.HeldBy[f.Positions] == nil {
			m.HeldBy[f.Positions] = &Share{}
		}
		m.HeldBy[f.Positions].add(f.Held())
		widths = append(widths, ratio(f.Latest, f.Earliest))
		errors = append(errors, ratio((f.Median-f.Waited).Abs(), f.Waited))
		losses = append(losses, pinball(f.Waited, f.Earliest, f.Median, f.Latest))
		gap.add(f.ByGap, f.Waited)
		end.add(f.ByFirstEnd, f.Waited)
	}
	m.Width, m.Error, m.Pinball = median(widths), median(errors), mean(losses)
	m.ByGap, m.ByFirstEnd = gap.measured(), end.measured()
	return m
}

// rival collects the errors of a single time.
type rival struct {
	Rival
	errors, losses []float64
}

func (r *rival) add(estimate, waited time.Duration) {
	r.Known.add(estimate >= 0)
	if estimate >= 0 {
		r.errors = append(r.errors, ratio((estimate-waited).Abs(), waited))
		r.losses = append(r.losses, pinball(waited, estimate, estimate, estimate))
	}
}

func (r *rival) measured() Rival {
	r.Error, r.Pinball = median(r.errors), mean(r.losses)
	return r.Rival
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / max(b, least).Seconds() }

// pinball is the mean loss of a 10%, a 50% and a 90% point, in hours: what is above a point costs its share,
// what is below costs the rest.
func pinball(waited time.Duration, points ...time.Duration) float64 {
	sum := 0.0
	for i, share := range []float64{0.1, 0.5, 0.9} {
		by := (waited - points[i]).Hours()
		sum += max(share*by, (share-1)*by)
	}
	return sum / float64(len(points))
}

// median of some values; 0 of none.
func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2]
}

func mean(of []float64) float64 {
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(1, len(of)))
}
