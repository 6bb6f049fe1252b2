package report

import (
	"math"

	"gonum.org/v1/plot"

	"mlplatform.example.com/trainingjob-operator/bench/chart"
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
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, chart.LogTicks{}
}
