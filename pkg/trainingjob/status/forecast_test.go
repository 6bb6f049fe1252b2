package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestWriteForecast: which forecast the status of a queued job has after a reconcile.
func TestWriteForecast(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	start := func(at, written time.Duration) *v1alpha1.EstimatedStart {
		return &v1alpha1.EstimatedStart{Time: in(at), ObservedTime: *in(written)}
	}
	next := func(edit func(*observation.Forecast)) *observation.Forecast {
		f := &observation.Forecast{
			Attempt: 1, Phase: v1alpha1.PhaseQueued, Start: &v1alpha1.EstimatedStart{Time: in(time.Hour)},
		}
		edit(f)
		return f
	}
	same := func(*observation.Forecast) {}
	for name, tc := range map[string]struct {
		reason  string
		written *v1alpha1.EstimatedStart
		off     bool
		changed bool // another step has changed the status
		waiting int
		next    *observation.Forecast
		want    *v1alpha1.EstimatedStart
	}{
		"first": {reason: "it is written at once", next: next(same), want: start(time.Hour, 0)},
		"moved": {
			reason: "it moved by more than a fifth", written: start(3*time.Hour, -time.Hour), next: next(same),
			want: start(time.Hour, 0),
		},
		"moved soon": {
			reason: "the last write is less than a minute old", written: start(3*time.Hour, -59*time.Second),
			next: next(same), want: start(3*time.Hour, -59*time.Second),
		},
		"moved, with many jobs": {
			reason: "each of 10,000 jobs is written every 5 minutes", written: start(3*time.Hour, -4*time.Minute),
			waiting: 10_000, next: next(same), want: start(3*time.Hour, -4*time.Minute),
		},
		"no forecast yet": {
			reason: "this process has made no pass", written: start(time.Hour, -time.Hour),
			want: start(time.Hour, -time.Hour),
		},
		"of another phase": {
			reason: "the forecast is that of a former phase", written: start(3*time.Hour, -time.Hour),
			next: next(func(f *observation.Forecast) { f.Phase = v1alpha1.PhaseRunning }),
			want: start(3*time.Hour, -time.Hour),
		},
		"of another attempt": {
			reason: "the forecast is that of a former attempt", written: start(3*time.Hour, -time.Hour),
			next: next(func(f *observation.Forecast) { f.Attempt = 2 }), want: start(3*time.Hour, -time.Hour),
		},
		"over": {
			reason: "the phase has no such time any more", written: start(3*time.Hour, -time.Hour),
			next: next(func(f *observation.Forecast) { f.Start = nil }),
		},
		"off": {
			reason: "an old forecast causes no write", written: start(time.Hour, -time.Hour), off: true,
			want: start(time.Hour, -time.Hour),
		},
		"off, with another change": {
			reason: "an old forecast is removed", written: start(time.Hour, -time.Hour), off: true, changed: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observation.Observation{Snapshot: observation.Snapshot{
				Job: jobtest.New(1), Now: now, Waiting: tc.waiting, Forecasts: !tc.off, Forecast: tc.next,
			}}
			st := &o.Job.Status
			st.Phase, st.Attempt = v1alpha1.PhaseQueued, 1
			st.Scheduling = &v1alpha1.SchedulingStatus{EstimatedStart: tc.written}
			p := &decision.Plan{Status: *st.DeepCopy()}
			if tc.changed {
				p.Status.Message = "changed"
			}
			WriteForecast(o, p)
			if diff := cmp.Diff(tc.want, p.Status.Scheduling.EstimatedStart); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFirstForecast: the first interval of an attempt is kept, and judged as soon as its result is known.
func TestFirstForecast(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(time.Duration(minutes) * time.Minute)) }
	from := func(earliest, latest int, edit func(*v1alpha1.FirstForecast)) *v1alpha1.FirstForecast {
		f := &v1alpha1.FirstForecast{
			Earliest: in(earliest), Latest: in(latest), Position: 3, SpreadPercent: 110, ObservedTime: in(-60),
		}
		if edit != nil {
			edit(f)
		}
		return f
	}
	judged := func(result v1alpha1.ForecastResult, at int) func(*v1alpha1.FirstForecast) {
		return func(f *v1alpha1.FirstForecast) { f.Result, f.JudgedTime = result, new(in(at)) }
	}
	seen := func(f *v1alpha1.FirstForecast) { f.ObservedTime = in(0) }
	for name, tc := range map[string]struct {
		reason string
		kept   *v1alpha1.FirstForecast
		next   *v1alpha1.FirstForecast
		soon   bool // the last write is less than a minute old
		off    bool
		enters v1alpha1.Phase
		want   *v1alpha1.FirstForecast
	}{
		"given": {
			reason: "it is written with the forecast", next: from(10, 30, nil), want: from(10, 30, seen),
		},
		"given soon": {
			reason: "a write is not yet due", next: from(10, 30, nil), soon: true,
		},
		"given late": {
			reason: "an interval that is over says nothing", next: from(-30, -1, nil),
		},
		"kept": {
			reason: "only the first one is judged", kept: from(10, 30, nil), next: from(50, 90, nil),
			want: from(10, 30, nil),
		},
		"late while it waits": {
			reason: "it counts at once", kept: from(-30, -10, nil), next: from(50, 90, nil), soon: true,
			want: from(-30, -10, judged(v1alpha1.ForecastLate, -10)),
		},
		"held": {
			reason: "the gang starts in the interval", kept: from(-10, 10, nil), enters: v1alpha1.PhaseStarting,
			want: from(-10, 10, judged(v1alpha1.ForecastHeld, 0)),
		},
		"early": {
			reason: "the gang starts before it", kept: from(5, 10, nil), enters: v1alpha1.PhaseRunning,
			want: from(5, 10, judged(v1alpha1.ForecastEarly, 0)),
		},
		"late": {
			reason: "the gang starts after it", kept: from(-15, -10, nil), enters: v1alpha1.PhaseRunning,
			want: from(-15, -10, judged(v1alpha1.ForecastLate, -10)),
		},
		"late before": {
			reason: "a result stays", kept: from(-15, -10, judged(v1alpha1.ForecastLate, -10)),
			enters: v1alpha1.PhaseRunning, want: from(-15, -10, judged(v1alpha1.ForecastLate, -10)),
		},
		"leaves": {
			reason: "it counts as neither", kept: from(-10, 10, nil), enters: v1alpha1.PhaseDraining,
		},
		"leaves late": {
			reason: "it was late already", kept: from(-30, -10, nil), enters: v1alpha1.PhaseDraining,
			want: from(-30, -10, judged(v1alpha1.ForecastLate, -10)),
		},
		"off": {
			reason: "an old one causes no write", kept: from(-30, -10, nil), off: true, want: from(-30, -10, nil),
		},
		"off, with a transition": {
			reason: "the operator keeps none", kept: from(-10, 10, nil), off: true, enters: v1alpha1.PhaseRunning,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observation.Observation{Snapshot: observation.Snapshot{
				Job: jobtest.New(1), Now: now, Forecasts: !tc.off,
				Forecast: &observation.Forecast{
					Attempt: 1, Phase: v1alpha1.PhaseQueued, First: tc.next,
					Start: &v1alpha1.EstimatedStart{Unknown: v1alpha1.StartNotCalibrated},
				},
			}}
			st := &o.Job.Status
			st.Phase, st.Attempt = v1alpha1.PhaseQueued, 1
			st.Scheduling = &v1alpha1.SchedulingStatus{
				FirstForecast:  tc.kept,
				EstimatedStart: &v1alpha1.EstimatedStart{Unknown: v1alpha1.StartNotCalibrated, ObservedTime: in(-1)},
			}
			if tc.soon {
				st.Scheduling.EstimatedStart.ObservedTime = metav1.NewTime(now.Add(-59 * time.Second))
			}
			p := &decision.Plan{Status: *st.DeepCopy()}
			if tc.enters != "" {
				p.Status.Phase = tc.enters
				Conclude(o, p, decision.Outcome{})
			} else {
				WriteForecast(o, p)
			}
			if diff := cmp.Diff(tc.want, p.Status.Scheduling.FirstForecast); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
