package forecaster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const (
	// period is the shortest time between two passes. The first one comes after it, so that most trainers have
	// reported to a new process.
	period = time.Minute
	// share: after a pass the forecaster rests that many times as long, so that it uses at most a twentieth of
	// one processor.
	share = 20
	// budget of the plays of one pass. Samples are cut to keep it.
	budget = 1500 * time.Millisecond
	// played: so many times as many waiting gangs as are considered take part in a play. Those that are served
	// after them are left out.
	played = 4
)

// Options of the forecaster, as the admin configures them.
type Options struct {
	Horizon    time.Duration
	Considered int
}

// Dependencies are what a forecaster reads and calls.
type Dependencies struct {
	// Client reads the jobs from the cache.
	Client   client.Reader
	Clock    clock.WithTicker
	State    *backends.ClusterState
	Owned    *memory.OwnedCache
	Counts   *meter.JobCounts
	Backends []scheduler.Backend
	// Steps is nil where no server receives reports.
	Steps Steps
	Waker memory.Waker
	// Autoscaler is nil where it is not known whether there is one.
	Autoscaler *backends.Autoscaler
	// ReportPanic reports a panic in an activity; the job is nil where the panic concerns no single job.
	ReportPanic func(ctx context.Context, job *v1alpha1.TrainingJob, activity string, caught *panics.Panic)
}

// Steps are what rank 0 of each job has reported, by the operator's clock (see reportserver.Store).
type Steps interface {
	Steps(job types.UID) (attempt int32, steps forecast.Steps, known bool)
}

// Forecaster estimates when jobs start and end. It is a manager.Runnable of the leader; one goroutine
// estimates.
type Forecaster struct {
	Dependencies
	options Options

	// judged are the last results of forecasts, and samples those of the next pass. Only passes use them.
	judged  []forecast.Record
	samples int

	mu        sync.Mutex
	forecasts map[types.UID]*observation.Forecast
}

// New returns a forecaster; nil without options.
func New(o *Options, d Dependencies) *Forecaster {
	if o == nil {
		return nil
	}
	return &Forecaster{Dependencies: d, options: *o, samples: forecast.MaxSamples}
}

// Start implements manager.Runnable.
func (f *Forecaster) Start(ctx context.Context) error {
	rest := period
	for {
		timer := f.Clock.NewTimer(rest)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		began := f.Clock.Now()
		f.pass(ctx)
		rest = max(period, share*f.Clock.Since(began))
	}
}

// pass makes one pass and wakes the jobs whose status changes. Neither an error nor a panic stops the next
// one.
func (f *Forecaster) pass(ctx context.Context) {
	if caught := panics.Catch(func() {
		wake, err := f.Estimate(ctx)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Estimating starts and ends")
		}
		f.Waker.Wake(ctx, wake, turn.Last)
	}); caught != nil {
		f.ReportPanic(ctx, nil, meter.ActivityForecast, caught)
	}
}

// Estimate makes one pass. It returns the jobs whose status has to be written.
func (f *Forecaster) Estimate(ctx context.Context) ([]types.NamespacedName, error) {
	state := f.State.State()
	if !state.Complete {
		return nil, nil
	}
	list := &v1alpha1.TrainingJobList{}
	if err := f.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // nothing here changes them
		return nil, fmt.Errorf("listing the jobs: %w", err)
	}
	now := f.Clock.Now().Truncate(memory.StatusPrecision)
	d := f.describe(ctx, list, state, now)
	began := f.Clock.Now()
	starts := forecast.Forecast(&d.snapshot, forecast.Limits{
		Horizon: f.options.Horizon, Considered: f.options.Considered, Samples: f.samples,
	})
	f.samples = samplesWithin(budget, f.samples, f.Clock.Since(began))
	forecasts := d.estimates(starts)
	f.mu.Lock()
	f.forecasts = forecasts
	f.mu.Unlock()
	var wake []types.NamespacedName
	for _, job := range d.jobs {
		if f.changed(job, forecasts[job.UID], now) {
			wake = append(wake, client.ObjectKeyFromObject(job))
		}
	}
	return wake, nil
}

// samplesWithin returns how many samples fit a budget if some took a time.
func samplesWithin(budget time.Duration, samples int, took time.Duration) int {
	most := int64(budget) * int64(samples) / max(1, int64(took))
	return int(min(max(most, forecast.MinSamples), forecast.MaxSamples))
}

// changed reports whether the job's reconcile writes the forecast.
func (f *Forecaster) changed(job *v1alpha1.TrainingJob, next *observation.Forecast, now time.Time) bool {
	s := job.Status.Scheduling
	if s == nil || next == nil {
		return false
	}
	waiting := int(f.Counts.Waiting.Load())
	due := func(written time.Time, jobs int) bool {
		return !now.Before(written.Add(observation.ForecastDelay(jobs)))
	}
	start, end := s.EstimatedStart, s.EstimatedEnd
	late := job.Status.Phase == v1alpha1.PhaseQueued && observation.IsLate(s.FirstForecast, now)
	return late || (next.IsFirst(s, now) || observation.StartDiffers(start, next.Start)) &&
		(start == nil || due(start.ObservedTime.Time, waiting)) ||
		observation.EndDiffers(end, next.End) &&
			(end == nil || due(end.ObservedTime.Time, waiting+int(f.Counts.Running.Load())))
}

// Advise sets the forecast in a job's snapshot. A nil Forecaster sets none.
func (f *Forecaster) Advise(s *trainingjob.Snapshot) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Forecasts, s.Forecast = true, f.forecasts[s.Job.UID]
}
