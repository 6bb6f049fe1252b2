package forecaster

import (
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

// calibrate sets the hits and the spreads of the snapshot. The statuses of existing jobs have the records.
// This process also remembers those of jobs that are gone or wait again: otherwise users who delete late jobs
// would raise the hits.
func (f *Forecaster) calibrate(d *description, list []v1alpha1.TrainingJob) {
	var all []forecast.Record
	known := map[string]bool{}
	for i := range list {
		if r, has := f.recordOf(d, &list[i]); has {
			all = append(all, r)
			known[r.ID] = true
		}
	}
	for _, r := range f.judged {
		if !known[r.ID] {
			all = append(all, r)
		}
	}
	f.judged = nil
	for _, r := range forecast.Recent(all, d.now) {
		if r.Result != forecast.Pending {
			f.judged = append(f.judged, r)
		}
	}
	d.snapshot.Hits = forecast.HitsOf(all, d.now)
	spreads := forecast.SpreadsOf(all, d.now)
	for name, i := range d.lanes {
		spread, has := spreads[name]
		if !has {
			spread = forecast.FirstSpread
		}
		d.snapshot.Lanes[i].Spread = spread
	}
}

// recordOf the first forecast of a job's attempt; false: it has none that counts.
func (f *Forecaster) recordOf(d *description, job *v1alpha1.TrainingJob) (forecast.Record, bool) {
	s := job.Status.Scheduling
	if s == nil || s.FirstForecast == nil {
		return forecast.Record{}, false
	}
	first, name := s.FirstForecast, string(s.Scheduler)
	r := forecast.Record{
		ID:     fmt.Sprintf("%s/%d", job.UID, job.Status.Attempt),
		Kind:   forecast.Kind{Scheduler: name, Positions: forecast.PositionsOf(int(first.Position))},
		Lane:   d.queueOf(f.backend(name), queueKey{name, job.Namespace, s.Queue}).name,
		Spread: float64(first.SpreadPercent) / 100, Given: first.ObservedTime.Time, Latest: first.Latest.Time,
		Result: forecast.Result(first.Result),
	}
	if first.JudgedTime != nil {
		r.Judged = first.JudgedTime.Time
	}
	return r, r.Result != forecast.Pending || waits(job)
}
