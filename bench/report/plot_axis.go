package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"mlplatform.example.com/trainingjob-operator/bench/stats"
)

// shortest time in seconds on a logarithmic axis.
const shortest = 0.01

// timeAxis is logarithmic when the times spread widely: when the 95% quantile is spread times the 5% one.
func timeAxis(axis *plot.Axis, seconds []float64) {
	const spread = 15
	var values []stats.Bounds
	for _, s := range seconds {
		values = append(values, stats.Exactly(s))
	}
	low, high := stats.Quantile(0.05, values).Low, stats.Quantile(0.95, values).Low
	if high <= spread*max(low, shortest) {
		axis.Min = 0
		return
	}
	axis.Min = max(shortest, stats.Quantile(0, values).Low)
	axis.Min = math.Pow(10, math.Floor(math.Log10(axis.Min)))
	axis.Max = max(1.1*axis.Max, 10*axis.Min)
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, logTicks{}
}

// logTicks are at 1, 2 and 5 of every power of ten; over more than three powers, at 1 alone.
type logTicks struct{}

func (logTicks) Ticks(low, high float64) []plot.Tick {
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

// roundTicks are at multiples of 1, 2 or 5 times a power of ten, and about as many as the number says.
type roundTicks int

func (most roundTicks) Ticks(low, high float64) []plot.Tick {
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
	if v == 0 {
		return "0" // and not -0
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
