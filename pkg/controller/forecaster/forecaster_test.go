package forecaster

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// TestSamplesWithin: a slow pass is followed by one with fewer samples, a fast one by one with more.
func TestSamplesWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		samples int
		took    time.Duration
		want    int
	}{
		"nothing":   {forecast.MaxSamples, 0, forecast.MaxSamples},
		"fast":      {8, 100 * time.Millisecond, forecast.MaxSamples},
		"just":      {32, 1500 * time.Millisecond, 32},
		"slow":      {32, 3 * time.Second, 16},
		"very slow": {32, time.Minute, forecast.MinSamples},
		"faster":    {10, time.Second, 15},
	} {
		if got := samplesWithin(budget, tc.samples, tc.took); got != tc.want {
			t.Errorf("%s: %d samples, want %d", name, got, tc.want)
		}
	}
}
