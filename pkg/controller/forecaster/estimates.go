package forecaster

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// estimates returns the forecast of each described job, by UID.
func (d *description) estimates(starts []forecast.Start) map[types.UID]*observation.Forecast {
	all := make(map[types.UID]*observation.Forecast, len(d.jobs))
	for i, job := range d.jobs {
		f := &observation.Forecast{Attempt: job.Status.Attempt, Phase: job.Status.Phase}
		switch g := &d.snapshot.Gangs[i]; {
		case job.DeletionTimestamp != nil:
		case job.Status.Phase == v1alpha1.PhaseStarting, job.Status.Phase == v1alpha1.PhaseRunning:
			f.End = endOf(g.Length, d.now, true)
		case job.Status.Phase == v1alpha1.PhaseQueued && !g.Length.Known():
			f.End = endOf(g.Length, d.now, false)
		}
		all[job.UID] = f
	}
	for i := range starts {
		s := &starts[i]
		job := d.jobs[s.Gang]
		if job.Status.Phase != v1alpha1.PhaseQueued || job.DeletionTimestamp != nil {
			continue
		}
		f := all[job.UID]
		f.Start, f.First = startOf(s), firstOf(s)
		if f.End == nil && !s.End.IsZero() {
			f.End = endOf(d.snapshot.Gangs[s.Gang].Length, s.Time, false)
		}
	}
	return all
}

// endOf returns the end of a gang that runs from a time on. What is known of the earliest end of a gang that
// waits depends on its start, and is left out.
func endOf(l forecast.Length, from time.Time, runs bool) *v1alpha1.EstimatedEnd {
	e := &v1alpha1.EstimatedEnd{
		Basis: v1alpha1.ForecastBasis(l.Basis), Unknown: v1alpha1.EndUnknown(l.Missing),
		StepMilliseconds: int64(l.StepSeconds * 1000), SimilarJobs: int32(l.Jobs),
	}
	if l.Known() {
		e.Time = timeOf(from.Add(l.Time))
		if runs {
			e.Earliest = timeOf(from.Add(l.Low))
		}
	}
	return e
}

func startOf(s *forecast.Start) *v1alpha1.EstimatedStart {
	e := &v1alpha1.EstimatedStart{
		Time: timeOf(s.Time), Earliest: timeOf(s.Earliest), Latest: timeOf(s.Latest),
		Unknown: v1alpha1.StartUnknown(s.Unknown), Position: int32(s.Position),
		HitPercent: int32(s.Hits.Percent()), HitOf: int32(s.Hits.Of),
	}
	for _, b := range s.Behind {
		e.Behind = append(e.Behind, v1alpha1.StartDependency{
			What: v1alpha1.StartDependencyKind(b.What), Name: b.Name, Time: timeOf(b.Time), GPUs: b.GPUs,
			Basis: v1alpha1.ForecastBasis(b.Basis), Unknown: v1alpha1.EndUnknown(b.Missing),
		})
	}
	return e
}

// firstOf returns the interval to judge; nil: there is none.
func firstOf(s *forecast.Start) *v1alpha1.FirstForecast {
	if s.Given == nil {
		return nil
	}
	return &v1alpha1.FirstForecast{
		Earliest: *timeOf(s.Given.Earliest), Latest: *timeOf(s.Given.Latest), Position: int32(s.Position),
		SpreadPercent: int32(math.Round(100 * s.Given.Spread)),
	}
}

// timeOf returns a time in whole seconds; nil for the zero time.
func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t.Truncate(time.Second))
	return &at
}
