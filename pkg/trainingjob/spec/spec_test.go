package spec

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

func TestRevision(t *testing.T) {
	base := Revision(jobtest.New(2))
	cases := map[string]struct {
		edit    func(*v1alpha1.TrainingJob)
		changes bool
	}{
		"replicas":         {func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = new(int32(3)) }, true},
		"image":            {func(j *v1alpha1.TrainingJob) { j.Spec.Image = "bert:2" }, true},
		"minAvailable":     {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1)) }, true},
		"suspend":          {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) }, false},
		"backoffLimit":     {func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(9)) }, false},
		"deadline":         {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(9)) }, false},
		"time to live":     {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(9)) }, false},
		"clean pod policy": {func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodAll }, false},
		"a label":          {func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"team": "a"} }, false},
	}
	for name, c := range cases {
		if got := Revision(jobtest.New(2, c.edit)) != base; got != c.changes {
			t.Errorf("%s: a new attempt %t, want %t", name, got, c.changes)
		}
	}
}

func TestChooseScheduler(t *testing.T) {
	recorded := func(phase v1alpha1.Phase) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Status.Phase, j.Status.Scheduling = phase, &v1alpha1.SchedulingStatus{Scheduler: "native"}
		}
	}
	inSpec := func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.Scheduler = "volcano" }
	cases := map[string]struct {
		job       *v1alpha1.TrainingJob
		byConfig  string
		available []string
		want      string
	}{
		"what the cluster serves first":            {jobtest.New(1), "", []string{"native", "volcano"}, "native"},
		"the configuration before it":              {jobtest.New(1), "volcano", []string{"native"}, "volcano"},
		"the job before both":                      {jobtest.New(1, inSpec), "native", []string{"native"}, "volcano"},
		"what a running job has, before all":       {jobtest.New(1, inSpec, recorded(v1alpha1.PhaseRunning)), "volcano", nil, "native"},
		"a suspended job may be given another one": {jobtest.New(1, inSpec, recorded(v1alpha1.PhaseSuspended)), "", nil, "volcano"},
		"none": {jobtest.New(1), "", nil, ""},
	}
	for name, c := range cases {
		if got := ChooseScheduler(c.job, c.byConfig, c.available); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for text, indexes := range map[string][]int32{"": nil, "0": {0}, "0-3,7": {0, 1, 2, 3, 7}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := FormatIndexes(indexes); got != text {
			t.Errorf("format %v: %q, want %q", indexes, got, text)
		}
		set := ParseIndexes(text)
		if len(set) != len(indexes) {
			t.Errorf("parse %q: %v, want %v", text, set, indexes)
		}
		for _, i := range indexes {
			if !set.Has(i) {
				t.Errorf("parse %q: %d is not in it", text, i)
			}
		}
	}
	if got := ParseIndexes("x,2-y,4"); len(got) != 1 || !got.Has(4) {
		t.Errorf("parts that make no sense must be left out, got %v", got)
	}
}
