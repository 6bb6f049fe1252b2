package jobview

import (
	"math"
	"strconv"
)

// Tick of an axis.
type Tick struct {
	// At is the position along the axis, in percent.
	At    float64
	Label string
}

// scale maps values to percent along an axis.
type scale struct{ min, max float64 }

// tiny is the smallest range: smaller ones cannot be divided.
const tiny = 1e-300

// scaleOf finite values, with margins: a share of their range. Equal values get margins on both sides.
func scaleOf(low, high, margin float64) scale {
	if high-low < tiny {
		around := math.Abs(low) / 10
		if around == 0 {
			around = 1
		}
		return scale{low - around, high + around}
	}
	margin *= high - low
	s := scale{low - margin, high + margin}
	if math.IsInf(s.max-s.min, 0) || s.max <= s.min { // too large, or too close to distinguish
		return scale{low, high}
	}
	return s
}

// at is the position of a value, in percent.
func (s scale) at(v float64) float64 {
	// Halves first: the range of the largest numbers overflows.
	return (v/2 - s.min/2) / (s.max/2 - s.min/2) * 100
}

// mostSteps between the ticks of an axis.
const mostSteps = 5

// step is the distance between ticks: 1, 2 or 5 times a power of ten, at most half of the range; 0 if
// floating point numbers have no such ticks.
func (s scale) step() float64 {
	least := (s.max - s.min) / mostSteps
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if step := factor * power; step >= least && s.min+step > s.min && s.max-step < s.max {
			return step
		}
	}
	return 0
}

// ticks returns the ticks of the axis. With whole it leaves out those between whole numbers.
func (s scale) ticks(whole bool) []Tick {
	if s.max <= s.min || math.IsInf(s.max-s.min, 0) {
		return nil
	}
	step := s.step()
	if step == 0 {
		return nil
	}
	var ticks []Tick
	for i, first := 0, math.Ceil(s.min/step); i <= mostSteps; i++ {
		v := (first + float64(i)) * step
		switch {
		case v > s.max:
			return ticks
		case !whole:
			ticks = append(ticks, Tick{s.at(v), label(v, step)})
		case v == math.Trunc(v) && math.Abs(v) < 1<<62:
			ticks = append(ticks, Tick{s.at(v), number(int64(v))})
		}
	}
	return ticks
}

// label of a multiple of the step, without rounding errors.
func label(v, step float64) string {
	digits := 1
	if v != 0 {
		digits += int(math.Floor(math.Log10(math.Abs(v))+1e-9) - math.Floor(math.Log10(step)+1e-9))
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', max(digits, 1), 64), 64)
	if err != nil { // too large
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}
