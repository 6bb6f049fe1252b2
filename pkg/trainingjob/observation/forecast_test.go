package observation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestForecastIsWrittenRarely: a time is written again only if it moved by more than a fifth of what was
// left.
func TestForecastIsWrittenRarely(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: now.Add(time.Duration(minutes) * time.Minute)}
	}
	written := v1alpha1.EstimatedStart{
		Time: in(100), Earliest: in(80), Latest: in(200), Position: 20, ObservedTime: *in(0),
		Behind: []v1alpha1.StartDependency{{What: v1alpha1.DependsOnEnd, Name: "bert", Time: in(100)}},
	}
	for name, tc := range map[string]struct {
		edit func(*v1alpha1.EstimatedStart)
		want bool
	}{
		"the same":               {func(*v1alpha1.EstimatedStart) {}, false},
		"by a fifth":             {func(s *v1alpha1.EstimatedStart) { s.Time = in(120) }, false},
		"by more than a fifth":   {func(s *v1alpha1.EstimatedStart) { s.Time = in(121) }, true},
		"earlier":                {func(s *v1alpha1.EstimatedStart) { s.Time = in(79) }, true},
		"unknown":                {func(s *v1alpha1.EstimatedStart) { s.Unknown = "NoEndKnown" }, true},
		"a few places":           {func(s *v1alpha1.EstimatedStart) { s.Position = 16 }, false},
		"many places":            {func(s *v1alpha1.EstimatedStart) { s.Position = 15 }, true},
		"another gang":           {func(s *v1alpha1.EstimatedStart) { s.Behind[0].Name = "gpt" }, true},
		"the time of that gang":  {func(s *v1alpha1.EstimatedStart) { s.Behind[0].Time = in(50) }, false},
		"the latest":             {func(s *v1alpha1.EstimatedStart) { s.Latest = in(240) }, false},
		"the latest, by more":    {func(s *v1alpha1.EstimatedStart) { s.Latest = in(241) }, true},
		"the hits":               {func(s *v1alpha1.EstimatedStart) { s.HitPercent, s.HitOf = 79, 120 }, false},
		"hardly before, by more": {func(s *v1alpha1.EstimatedStart) { s.Earliest = in(10) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			next := written.DeepCopy()
			tc.edit(next)
			if got := StartDiffers(&written, next); got != tc.want {
				t.Errorf("it is written: %t, want %t", got, tc.want)
			}
		})
	}
	if !StartDiffers(nil, &written) || !StartDiffers(&written, nil) || StartDiffers(nil, nil) {
		t.Error("a new or removed forecast is a difference")
	}
	end := v1alpha1.EstimatedEnd{Time: in(100), ObservedTime: *in(0)}
	for minutes, want := range map[int]bool{100: false, 120: false, 121: true} {
		if got := EndDiffers(&end, &v1alpha1.EstimatedEnd{Time: in(minutes)}); got != want {
			t.Errorf("an end in %d minutes is written: %t, want %t", minutes, got, want)
		}
	}
}

func TestForecastDelayGrowsWithTheJobs(t *testing.T) {
	for jobs, want := range map[int]time.Duration{
		1: time.Minute, 2000: time.Minute, 5000: 150 * time.Second, 10_000: 5 * time.Minute,
		50_000: 5 * time.Minute,
	} {
		if got := ForecastDelay(jobs); got != want {
			t.Errorf("%d jobs wait %v, want %v", jobs, got, want)
		}
	}
}
