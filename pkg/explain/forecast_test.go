package explain

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func forecasted(start *v1alpha1.EstimatedStart, end *v1alpha1.EstimatedEnd) *Forecast {
	return Of(job(func(j *v1alpha1.TrainingJob) {
		waiting(nil)(j)
		j.Status.Scheduling.EstimatedStart, j.Status.Scheduling.EstimatedEnd = start, end
	}), now).Forecast
}

// TestUnknownTimesHaveRemedies: each reason has a meaning and a next step.
func TestUnknownTimesHaveRemedies(t *testing.T) {
	for _, reason := range []v1alpha1.StartUnknown{
		v1alpha1.StartNoEndKnown, v1alpha1.StartTooFarAhead, v1alpha1.StartQueueUnknown,
		v1alpha1.StartNotComplete, v1alpha1.StartSchedulerDecides, v1alpha1.StartNotCalibrated,
	} {
		f := forecasted(&v1alpha1.EstimatedStart{Unknown: reason}, nil)
		if f.Start.Meaning == "" || f.NextStep == "" {
			t.Errorf("%s: %+v, next %q", reason, f.Start, f.NextStep)
		}
	}
	for _, reason := range []v1alpha1.EndUnknown{
		v1alpha1.EndNoReports, v1alpha1.EndNoTotalSteps, v1alpha1.EndTooFewReports, v1alpha1.EndLengthUnknown,
	} {
		f := forecasted(nil, &v1alpha1.EstimatedEnd{Unknown: reason})
		if f.End.Meaning == "" || f.NextStep == "" {
			t.Errorf("%s: %+v, next %q", reason, f.End, f.NextStep)
		}
	}
}

// TestForecastRemedyNamesTheJob whose end is unknown, if it is in the same namespace.
func TestForecastRemedyNamesTheJob(t *testing.T) {
	for name, tc := range map[string]struct {
		behind []v1alpha1.StartDependency
		want   string
	}{
		"named": {[]v1alpha1.StartDependency{
			{What: v1alpha1.DependsOnEnd, Unknown: v1alpha1.EndNoReports},
			{What: v1alpha1.DependsOnEnd, Name: "gpt", Unknown: v1alpha1.EndNoTotalSteps},
		}, "for job gpt: let the trainer report totalSteps"},
		"of another namespace": {[]v1alpha1.StartDependency{
			{What: v1alpha1.DependsOnEnd, Unknown: v1alpha1.EndNoReports},
		}, "ask the owner of the other job"},
		"goes first": {[]v1alpha1.StartDependency{
			{What: v1alpha1.DependsOnOrder, Name: "gpt"},
		}, "see kubectl tj when gpt"},
		"other pods": {[]v1alpha1.StartDependency{{What: v1alpha1.DependsOnRoom}}, "ask the admin for nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := forecasted(&v1alpha1.EstimatedStart{Unknown: v1alpha1.StartNoEndKnown, Behind: tc.behind}, nil)
			if !strings.HasPrefix(f.NextStep, tc.want) {
				t.Errorf("the next step is %q, want %q", f.NextStep, tc.want)
			}
		})
	}
}

// TestEndOf: the operator's measurement goes before the trainer's claim.
func TestEndOf(t *testing.T) {
	measured, claimed := metav1.NewTime(now.Add(time.Hour)), metav1.NewTime(now.Add(time.Minute))
	j := job(func(j *v1alpha1.TrainingJob) {
		j.Status.Phase = v1alpha1.PhaseRunning
		j.Status.Progress = &v1alpha1.ProgressStatus{EstimatedCompletionTime: &claimed}
		j.Status.Scheduling = &v1alpha1.SchedulingStatus{EstimatedEnd: &v1alpha1.EstimatedEnd{Time: &measured}}
	})
	if end := EndOf(j); end == nil || !end.Equal(measured.Time) {
		t.Errorf("with a forecast it ends %v", end)
	}
	j.Status.Scheduling = nil
	if end := EndOf(j); end == nil || !end.Equal(claimed.Time) {
		t.Errorf("without one it ends %v", end)
	}
	j.Status.Phase = v1alpha1.PhaseQueued
	if end := EndOf(j); end != nil {
		t.Errorf("it does not run, and ends %v", end)
	}
}

func TestForecastOf(t *testing.T) {
	at := metav1.NewTime(now.Add(time.Hour))
	f := forecasted(&v1alpha1.EstimatedStart{
		Time: &at, Position: 2, ObservedTime: since,
		Behind: []v1alpha1.StartDependency{
			{What: v1alpha1.DependsOnQuota, Name: "research"},
			{What: v1alpha1.DependsOnOrder, GPUs: 16, Time: &at},
			{What: v1alpha1.DependsOnEnd, Name: "bert", GPUs: 8, Basis: v1alpha1.ForecastDeadline, Time: &at},
		},
	}, &v1alpha1.EstimatedEnd{Time: &at, Basis: v1alpha1.ForecastSteps, StepMilliseconds: 820})
	var got []string
	for _, b := range f.Start.Behind {
		got = append(got, b.Summary)
	}
	want := "quota of research must become free; a job of another namespace (16 GPUs) goes first; " +
		"bert (8 GPUs) ends, at the latest, by activeDeadlineSeconds"
	if text := strings.Join(got, "; "); text != want || f.End.By != "by its steps of 820ms each" {
		t.Errorf("it depends on %q, and ends %q", text, f.End.By)
	}
	if f.NextStep != "" || Of(job(waiting(nil)), now).Forecast != nil {
		t.Errorf("known times need no next step: %q", f.NextStep)
	}
}

// TestNotCalibrated: why the operator shows no time.
func TestNotCalibrated(t *testing.T) {
	for want, start := range map[string]v1alpha1.EstimatedStart{
		"only 29 of 30 forecasts of its kind are judged": {HitPercent: 100, HitOf: 29},
		"only 64% of the last 30 such forecasts held":    {HitPercent: 64, HitOf: 30},
		"its interval is too wide":                       {HitPercent: 65, HitOf: 200},
	} {
		start.Unknown = v1alpha1.StartNotCalibrated
		if got := forecasted(&start, nil).Start.Meaning; got != want {
			t.Errorf("it means %q, want %q", got, want)
		}
	}
}

// TestJudged: only a result is shown of the first forecast, which need not be calibrated.
func TestJudged(t *testing.T) {
	of := func(result v1alpha1.ForecastResult) *Forecast {
		return Of(job(func(j *v1alpha1.TrainingJob) {
			waiting(nil)(j)
			j.Status.Scheduling.FirstForecast = &v1alpha1.FirstForecast{Earliest: since, Latest: since, Result: result}
		}), now).Forecast
	}
	if f := of(""); f != nil {
		t.Errorf("before a result it is %+v", f)
	}
	for _, result := range []v1alpha1.ForecastResult{
		v1alpha1.ForecastHeld, v1alpha1.ForecastEarly, v1alpha1.ForecastLate,
	} {
		f := of(result)
		if f == nil || f.Judged.Summary == "" || f.Judged.Result != result || !f.Judged.Latest.Equal(since.Time) {
			t.Errorf("%s: %+v", result, f)
		}
	}
}
