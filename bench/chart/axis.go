package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// LogTicks are at 1, 2 and 5 of every power of ten; over more than three powers, at 1 alone.
type LogTicks struct{}

// Ticks implements plot.Ticker.
func (LogTicks) Ticks(low, high float64) []plot.Tick {
	const many = 1000
	var ticks []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			v := digit * power
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			tick := plot.Tick{Value: v, Label: tickLabel(v)}
			if digit > 1 && high > many*low {
				tick.Label = ""
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// RoundTicks are at multiples of 1, 2 or 5 times a power of ten, and about as many as the number says.
type RoundTicks int

// Ticks implements plot.Ticker.
func (most RoundTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
	for _, times := range []float64{1, 2, 5, 10} {
		if (high-low)/(times*step) <= float64(most) {
			step *= times
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: tickLabel(i * step)})
	}
	return ticks
}

func tickLabel(v float64) string {
	switch {
	case v == 0:
		return "0" // and not -0
	case math.Abs(v) >= 1e4 && math.Abs(v) < 1e7: // people do not count in exponents up to there
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
