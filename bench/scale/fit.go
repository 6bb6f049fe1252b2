package scale

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// point is what a size cost.
type point struct{ size, cost float64 }

// exponent returns e in cost ~ size^e, by least squares over the logarithms. It returns false with fewer than
// three points, or if one is not positive.
func exponent(points []point) (float64, bool) {
	if len(points) < 3 {
		return 0, false
	}
	var sizes, costs []float64
	for _, p := range points {
		if p.size <= 0 || p.cost <= 0 {
			return 0, false
		}
		sizes, costs = append(sizes, math.Log(p.size)), append(costs, math.Log(p.cost))
	}
	_, slope := stat.LinearRegression(sizes, costs, nil, false)
	return slope, !math.IsNaN(slope)
}
