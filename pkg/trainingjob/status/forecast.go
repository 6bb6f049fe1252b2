package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// WriteForecast writes when the job probably starts and ends, if that differs from the status, at most once
// in ForecastDelay. It comes after all other steps, and causes no other write. Without forecasts it removes
// old ones together with another change.
func WriteForecast(o *observation.Observation, p *decision.Plan) {
	s, next := p.Status.Scheduling, o.Forecast
	switch {
	case s == nil:
	case !o.Forecasts:
		removeForecast(o, p)
	case next == nil || next.Phase != p.Status.Phase || next.Attempt != p.Status.Attempt:
	default:
		old := s.EstimatedStart
		if observation.StartDiffers(old, next.Start) &&
			(old == nil || forecastDue(o, old.ObservedTime.Time, o.Waiting)) {
			s.EstimatedStart = next.Start.DeepCopy()
			if s.EstimatedStart != nil {
				s.EstimatedStart.ObservedTime = o.Time()
			}
		}
		end := s.EstimatedEnd
		if observation.EndDiffers(end, next.End) &&
			(end == nil || forecastDue(o, end.ObservedTime.Time, o.Waiting+o.RunningJobs)) {
			s.EstimatedEnd = next.End.DeepCopy()
			if s.EstimatedEnd != nil {
				s.EstimatedEnd.ObservedTime = o.Time()
			}
		}
	}
}

func forecastDue(o *observation.Observation, written time.Time, jobs int) bool {
	return !o.Now.Before(written.Add(observation.ForecastDelay(jobs)))
}

// removeForecast removes an old forecast, but causes no write.
func removeForecast(o *observation.Observation, p *decision.Plan) {
	s := p.Status.Scheduling
	if s.EstimatedStart == nil && s.EstimatedEnd == nil {
		return
	}
	before := o.Job.Status.DeepCopy()
	before.ObservedGeneration = p.Status.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(p.Status, *before) {
		dropForecast(s)
	}
}

// dropForecast removes the forecast of a former phase.
func dropForecast(s *v1alpha1.SchedulingStatus) { s.EstimatedStart, s.EstimatedEnd = nil, nil }
