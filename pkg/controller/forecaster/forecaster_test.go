package forecaster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
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

// TestFirstForecastWakes: a gang that is late is written at once, its first interval with the next write.
func TestFirstForecastWakes(t *testing.T) {
	first := func(latest time.Duration, result v1alpha1.ForecastResult) *v1alpha1.FirstForecast {
		return &v1alpha1.FirstForecast{Latest: metav1.NewTime(now.Add(latest)), Result: result}
	}
	for name, tc := range map[string]struct {
		kept, next *v1alpha1.FirstForecast
		written    time.Duration
		want       bool
	}{
		"pending":        {first(0, ""), nil, -time.Hour, false},
		"late":           {first(-time.Second, ""), nil, 0, true},
		"late, recorded": {first(-time.Second, v1alpha1.ForecastLate), nil, 0, false},
		"given, not due": {nil, first(time.Hour, ""), 0, false},
		"given":          {nil, first(time.Hour, ""), -time.Minute, true},
		"given before":   {first(time.Hour, ""), first(time.Hour, ""), -time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			written := metav1.NewTime(now.Add(tc.written))
			waits := job("a", func(j *v1alpha1.TrainingJob) {
				j.Status.Phase = v1alpha1.PhaseQueued
				j.Status.Scheduling = &v1alpha1.SchedulingStatus{
					EstimatedStart: &v1alpha1.EstimatedStart{ObservedTime: written},
					FirstForecast:  tc.kept,
				}
			})
			f := &Forecaster{Dependencies: Dependencies{Counts: &meter.JobCounts{}}}
			next := &observation.Forecast{Start: &v1alpha1.EstimatedStart{}, First: tc.next}
			if got := f.changed(waits, next, now); got != tc.want {
				t.Errorf("it wakes: %t, want %t", got, tc.want)
			}
		})
	}
}
