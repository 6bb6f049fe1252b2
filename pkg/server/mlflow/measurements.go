package mlflow

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Metrics of every job, in addition to those of its trainer.
const (
	metricPercent = "trainingjob/percent"
	metricEpoch   = "trainingjob/epoch"
)

// measurementsOf returns the measurements of samples, and the number of values that are not numbers or have
// no time.
func measurementsOf(samples []history.Sample) (all []measurement, refused int) {
	for _, s := range samples {
		at := s.Time.UnixMilli()
		add := func(name, text string) {
			value, ok := numeric(text)
			key := cleanKey(name)
			if !ok || key == "" || at <= 0 {
				refused++
				return
			}
			all = append(all, measurement{Key: key, Value: value, Timestamp: at, Step: s.Step})
		}
		for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
			add(name, s.Metrics[name])
		}
		if s.Percent != nil {
			add(metricPercent, strconv.Itoa(int(*s.Percent)))
		}
		if _, ok := numeric(s.Epoch); ok { // it can be 3/10
			add(metricEpoch, s.Epoch)
		}
	}
	return all, refused
}

// numeric returns a metric value. JSON has no NaN and no infinity; MLflow reads them from strings.
func numeric(text string) (any, bool) {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case math.IsInf(value, 1):
		return "Infinity", true
	case math.IsInf(value, -1):
		return "-Infinity", true
	case err != nil:
		return nil, false
	case math.IsNaN(value):
		return "NaN", true
	}
	return value, true
}
