package jobview

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// maxCurves that are drawn. The others are named.
const maxCurves = 8

// speedName is the curve computed from steps and times.
const speedName = "steps per second"

// series is the values of one metric in one attempt.
type series struct {
	attempt int32
	points  []point
	// strange are points that are NaN or infinite: they are not part of the line.
	strange []point
}

// point of a series.
type point struct {
	step int64
	time time.Time
	y    float64
}

// metric and its series, by attempt.
type metric struct {
	name   string
	series []series
}

// metricsOf samples: every name with numeric values, the most interesting first. Samples are by attempt and
// step.
func metricsOf(samples []history.Sample) []metric {
	names := map[string]bool{}
	for _, s := range samples {
		for name, value := range s.Metrics {
			_, numeric := parse(value)
			before, seen := names[name]
			names[name] = numeric && (before || !seen)
		}
	}
	var all []metric
	for _, name := range slices.SortedFunc(maps.Keys(names), byInterest) {
		if !names[name] {
			continue
		}
		all = append(all, metric{name, seriesOf(samples, func(s *history.Sample) (float64, bool) {
			value, has := s.Metrics[name]
			if !has {
				return 0, false
			}
			return parse(value)
		})})
	}
	if speed := speedOf(samples); len(speed) > 0 {
		at := 0
		for at < len(all) && interest(all[at].name) == 0 {
			at++
		}
		all = slices.Insert(all, at, metric{speedName, speed})
	}
	return all
}

// parse a metric as a trainer wrote it. NaN and infinities are accepted.
func parse(value string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// interest in a metric by its name: losses first, then throughput, then all others.
func interest(name string) int {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "loss") || strings.Contains(name, "perplexity"):
		return 0
	case strings.Contains(name, "throughput") || strings.Contains(name, "per_sec") ||
		strings.Contains(name, "/s"):
		return 1
	}
	return 2
}

func byInterest(a, b string) int {
	if d := interest(a) - interest(b); d != 0 {
		return d
	}
	if d := len(a) - len(b); d != 0 && interest(a) == 0 { // loss before eval_loss
		return d
	}
	return strings.Compare(a, b)
}

// seriesOf the samples that have a value.
func seriesOf(samples []history.Sample, value func(*history.Sample) (float64, bool)) []series {
	var all []series
	for i := range samples {
		s := &samples[i]
		y, has := value(s)
		if !has {
			continue
		}
		if n := len(all); n == 0 || all[n-1].attempt != s.Attempt {
			all = append(all, series{attempt: s.Attempt})
		}
		last := &all[len(all)-1]
		p := point{s.Step, s.Time, y}
		if math.IsNaN(y) || math.IsInf(y, 0) {
			last.strange = append(last.strange, p)
			continue
		}
		last.points = append(last.points, p)
	}
	return all
}

// speedOf the training: steps per second between two reports of one attempt, at the time of the later one.
// Reports of the same second are merged.
func speedOf(samples []history.Sample) []series {
	var all []series
	for i := range samples {
		s := &samples[i]
		if n := len(all); n == 0 || all[n-1].attempt != s.Attempt {
			all = append(all, series{attempt: s.Attempt, points: []point{{s.Step, s.Time, 0}}})
			continue
		}
		last := &all[len(all)-1]
		from := last.points[len(last.points)-1]
		took := s.Time.Sub(from.time).Seconds()
		if took < 1 {
			continue
		}
		last.points = append(last.points, point{s.Step, s.Time, float64(s.Step-from.step) / took})
	}
	for i := range all {
		all[i].points = all[i].points[1:] // the first has no predecessor
	}
	return slices.DeleteFunc(all, func(s series) bool { return len(s.points) == 0 })
}
