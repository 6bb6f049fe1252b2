package status

import (
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// WriteForecast writes when the job probably starts and ends, if that differs from the status, at most once
// in ForecastDelay. It comes after all other steps, and causes no other write. Without forecasts it removes
// old ones together with another change.
func WriteForecast(o *observation.Observation, p *decision.Plan) {
	s, next := p.Status.Scheduling, o.Forecast
	if s == nil {
		return
	}
	if !o.Forecasts {
		removeForecast(o, p)
		return
	}
	if p.Status.Phase == v1alpha1.PhaseQueued {
		judgeLate(o, s)
	}
	if next == nil || next.Phase != p.Status.Phase || next.Attempt != p.Status.Attempt {
		return
	}
	old, first := s.EstimatedStart, next.IsFirst(s, o.Now)
	if (first || observation.StartDiffers(old, next.Start)) &&
		(old == nil || forecastDue(o, old.ObservedTime.Time, o.Waiting)) {
		s.EstimatedStart = next.Start.DeepCopy()
		if s.EstimatedStart != nil {
			s.EstimatedStart.ObservedTime = o.Time()
		}
		if first {
			s.FirstForecast = next.First.DeepCopy()
			s.FirstForecast.ObservedTime = o.Time()
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

// judgeLate records that the gang did not start in its first interval: at once, not only when it starts.
func judgeLate(o *observation.Observation, s *v1alpha1.SchedulingStatus) {
	if f := s.FirstForecast; observation.IsLate(f, o.Now) {
		f.Result, f.JudgedTime = v1alpha1.ForecastLate, new(f.Latest)
	}
}

func forecastDue(o *observation.Observation, written time.Time, jobs int) bool {
	return !o.Now.Before(written.Add(observation.ForecastDelay(jobs)))
}

// removeForecast removes an old forecast, but causes no write.
func removeForecast(o *observation.Observation, p *decision.Plan) {
	s := p.Status.Scheduling
	if s.EstimatedStart == nil && s.EstimatedEnd == nil && s.FirstForecast == nil {
		return
	}
	before := o.Job.Status.DeepCopy()
	before.ObservedGeneration = p.Status.ObservedGeneration
	if !apiequality.Semantic.DeepEqual(p.Status, *before) {
		s.EstimatedStart, s.EstimatedEnd, s.FirstForecast = nil, nil, nil
	}
}

// concludeForecast removes the forecast of the former phase, and judges the first one of a gang that starts.
// A gang that leaves the queue otherwise has no result, unless it is late already.
func concludeForecast(o *observation.Observation, p *decision.Plan) {
	s := p.Status.Scheduling
	s.EstimatedStart, s.EstimatedEnd = nil, nil
	if !o.Forecasts {
		s.FirstForecast = nil
		return
	}
	judgeLate(o, s)
	switch f := s.FirstForecast; {
	case f == nil || f.Result != "":
	case p.Status.Phase == v1alpha1.PhaseStarting || p.Status.Phase == v1alpha1.PhaseRunning:
		f.Result = v1alpha1.ForecastResult(forecast.Judge(f.Earliest.Time, f.Latest.Time, o.Now))
		f.JudgedTime = new(o.Time())
	default:
		s.FirstForecast = nil
	}
}
