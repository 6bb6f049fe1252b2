package jobview

import (
	"math"

	"gonum.org/v1/plot"
)

// Tick of an axis.
type Tick struct {
	// At is where it is along the axis, in percent from 0 to 100.
	At    float64
	Label string
}

// scale maps values to percent along an axis.
type scale struct{ min, max float64 }

// tiny ranges are none: what is smaller cannot be divided any more.
const tiny = 1e-300

// scaleOf finite values, with room around them: a share of their range. Values that are all the same get
// room on both sides.
func scaleOf(low, high, room float64) scale {
	if high-low < tiny {
		around := math.Abs(low) / 10
		if around == 0 {
			around = 1
		}
		return scale{low - around, high + around}
	}
	room *= high - low
	s := scale{low - room, high + room}
	if math.IsInf(s.max-s.min, 0) || s.max <= s.min { // too large or too close to be told apart
		return scale{low, high}
	}
	return s
}

// at is where a value is, in percent.
func (s scale) at(v float64) float64 {
	// Halves first: the range of the largest numbers is not a number.
	return (v/2 - s.min/2) / (s.max/2 - s.min/2) * 100
}

// ticks that have labels. whole leaves out those between whole numbers.
func (s scale) ticks(whole bool) []Tick {
	if s.max <= s.min || math.IsInf(s.max-s.min, 0) {
		return nil
	}
	var ticks []Tick
	for _, t := range (plot.DefaultTicks{}).Ticks(s.min, s.max) {
		if t.Label == "" || t.Value < s.min || t.Value > s.max {
			continue
		}
		label := t.Label
		if whole {
			if t.Value != math.Trunc(t.Value) || math.Abs(t.Value) >= 1<<62 {
				continue
			}
			label = number(int64(t.Value))
		}
		ticks = append(ticks, Tick{s.at(t.Value), label})
	}
	return ticks
}
