package observation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Forecast is when a job probably starts and ends; nil: its phase has no such time.
type Forecast struct {
	// Attempt and Phase of the job for which it was made.
	Attempt int32
	Phase   v1alpha1.Phase
	Start   *v1alpha1.EstimatedStart
	End     *v1alpha1.EstimatedEnd
	// First is the interval to judge, if the attempt has none yet; nil: there is no interval.
	First *v1alpha1.FirstForecast
}

// The shortest time between two writes of a forecast. With many jobs it grows, so that all of them together
// write at most 50 times a second.
const (
	minForecastDelay    = time.Minute
	forecastDelayPerJob = 30 * time.Millisecond
	maxForecastDelay    = 5 * time.Minute
)

// forecastShare: a time is written again if it has moved by more than this part of what is left.
const forecastShare = 5

// ForecastDelay returns the shortest time between two writes of a forecast, for a number of jobs that have
// one.
func ForecastDelay(jobs int) time.Duration {
	return min(max(minForecastDelay, time.Duration(jobs)*forecastDelayPerJob), maxForecastDelay)
}

// IsLate reports whether a gang waits longer than in its first forecast, and its status does not show that.
func IsLate(first *v1alpha1.FirstForecast, now time.Time) bool {
	return first != nil && first.Result == "" && now.After(first.Latest.Time)
}

// IsFirst reports whether the forecast has the first interval of an attempt.
func (f *Forecast) IsFirst(s *v1alpha1.SchedulingStatus, now time.Time) bool {
	return s.FirstForecast == nil && f.First != nil && !IsLate(f.First, now)
}

// StartDiffers reports whether a forecast of a start differs from the written one so that it is written.
func StartDiffers(written, now *v1alpha1.EstimatedStart) bool {
	if written == nil || now == nil {
		return written != now
	}
	left := written.Time
	if left == nil {
		left = written.Earliest
	}
	return written.Unknown != now.Unknown || moved(written.Time, now.Time, left, written.ObservedTime) ||
		moved(written.Earliest, now.Earliest, left, written.ObservedTime) ||
		moved(written.Latest, now.Latest, written.Latest, written.ObservedTime) ||
		apart(int64(written.Position), int64(now.Position)) || !sameDependencies(written.Behind, now.Behind)
}

// EndDiffers is StartDiffers for an end.
func EndDiffers(written, now *v1alpha1.EstimatedEnd) bool {
	if written == nil || now == nil {
		return written != now
	}
	return written.Unknown != now.Unknown || written.Basis != now.Basis ||
		moved(written.Time, now.Time, written.Time, written.ObservedTime)
}

// moved reports whether a time has moved by more than a part of what was left, and by a minute.
func moved(before, now, end *metav1.Time, at metav1.Time) bool {
	if before == nil || now == nil {
		return before != now
	}
	by, least := now.Sub(before.Time).Abs(), time.Minute
	if end != nil {
		least = max(least, end.Sub(at.Time)/forecastShare)
	}
	return by > least
}

// apart reports whether a number has changed by more than a part of it.
func apart(before, now int64) bool { return max(before-now, now-before) > before/forecastShare }

// sameDependencies compares what a start depends on, but not when it happens.
func sameDependencies(before, now []v1alpha1.StartDependency) bool {
	if len(before) != len(now) {
		return false
	}
	for i := range now {
		b, n := &before[i], &now[i]
		if b.What != n.What || b.Name != n.Name || b.GPUs != n.GPUs || b.Unknown != n.Unknown {
			return false
		}
	}
	return true
}
