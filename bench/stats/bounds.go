package stats

import "math"

// Bounds of a value that is not negative: a time, a count or a ratio. Low equals High when the value is known
// exactly; High is +Inf when the value is only known to be at least Low.
type Bounds struct {
	Low, High float64
}

// Exactly is a value that was measured.
func Exactly(v float64) Bounds { return Bounds{v, v} }

// AtLeast is a value of which only a lower bound is known, such as the time of a run that was cut.
func AtLeast(v float64) Bounds { return Bounds{v, math.Inf(1)} }

// Unknown is a value of which nothing is known.
func Unknown() Bounds { return AtLeast(0) }

// Known reports whether anything is known of the value.
func (b Bounds) Known() bool { return b.Low > 0 || !math.IsInf(b.High, 1) }

// Exact reports whether the value itself is known.
func (b Bounds) Exact() bool { return b.Low == b.High }

// Over divides two values that do not depend on each other. The ratio is at least Low/High and at most
// High/Low; it is Unknown when both were cut, and when base may be zero.
func (b Bounds) Over(base Bounds) Bounds {
	if base.Low <= 0 || math.IsInf(b.High, 1) && math.IsInf(base.High, 1) {
		return Unknown()
	}
	return Bounds{Low: b.Low / base.High, High: b.High / base.Low}
}
