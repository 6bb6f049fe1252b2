package scale

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	for name, tc := range map[string]struct {
		points []point
		want   float64
		known  bool
	}{
		"linear":             {[]point{{10, 30}, {20, 60}, {40, 120}}, 1, true},
		"quadratic":          {[]point{{10, 1}, {20, 4}, {30, 9}}, 2, true},
		"constant":           {[]point{{10, 5}, {20, 5}, {40, 5}}, 0, true},
		"two points":         {[]point{{10, 30}, {20, 60}}, 0, false},
		"a cost of nothing":  {[]point{{10, 0}, {20, 60}, {40, 80}}, 0, false},
		"one size only":      {[]point{{10, 1}, {10, 2}, {10, 3}}, 0, false},
		"nothing was played": {nil, 0, false},
	} {
		got, known := exponent(tc.points)
		if known != tc.known || math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: got %g, %t, want %g, %t", name, got, known, tc.want, tc.known)
		}
	}
}
