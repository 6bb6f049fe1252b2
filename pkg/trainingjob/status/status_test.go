package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

func TestProgressOf(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 500, time.UTC)
	said := metav1.NewTime(at.Truncate(time.Second))
	in := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(said.Add(d))) }
	first := new(int64(1))
	cases := map[string]struct {
		reason string
		report checkpoint.Report
		want   *v1alpha1.ProgressStatus
	}{
		"nothing yet": {"no status was written: step 0 is no progress", checkpoint.Report{Attempt: 1}, nil},
		"a step": {"a total is not needed", checkpoint.Report{Attempt: 2, FirstStep: first, Step: 7},
			&v1alpha1.ProgressStatus{Attempt: 2, Step: 7, ReportedTime: said}},
		"everything": {"what is left takes as long as the last steps did",
			checkpoint.Report{Attempt: 1, FirstStep: first, Step: 250, TotalSteps: 1000, StepSeconds: 0.5, Epoch: 2.48, TotalEpochs: 10,
				Metrics: map[string]checkpoint.Metric{"loss": "NaN"}},
			&v1alpha1.ProgressStatus{Attempt: 1, Step: 250, TotalSteps: 1000, Percent: new(int32(25)), Epoch: "2.48", TotalEpochs: "10",
				Metrics: map[string]string{"loss": "NaN"}, EstimatedCompletionTime: in(375 * time.Second), ReportedTime: said}},
		"almost": {"99.9 percent are not 100", checkpoint.Report{Attempt: 1, FirstStep: first, Step: 999, TotalSteps: 1000},
			&v1alpha1.ProgressStatus{Attempt: 1, Step: 999, TotalSteps: 1000, Percent: new(int32(99)), ReportedTime: said}},
		"beyond": {"a total that was too low", checkpoint.Report{Attempt: 1, FirstStep: first, Step: 1200, TotalSteps: 1000, StepSeconds: 1},
			&v1alpha1.ProgressStatus{Attempt: 1, Step: 1200, TotalSteps: 1000, Percent: new(int32(100)), ReportedTime: said}},
		"never": {"an estimate beyond all years is none", checkpoint.Report{Attempt: 1, FirstStep: first, Step: 1, TotalSteps: 1 << 50, StepSeconds: 1e6},
			&v1alpha1.ProgressStatus{Attempt: 1, Step: 1, TotalSteps: 1 << 50, Percent: new(int32(0)), ReportedTime: said}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, reportedProgress(&observation.Reported{Report: c.report, Received: at})); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// TestLastStep: what the last report would have told is in the last word, too.
func TestLastStep(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	heard := func(attempt int32, step int64) *v1alpha1.ProgressStatus {
		return &v1alpha1.ProgressStatus{Attempt: attempt, Step: step, TotalSteps: 1000, Percent: percentOf(step, 1000), Metrics: map[string]string{"loss": "1"}}
	}
	cases := map[string]struct {
		reason     string
		heard, old *v1alpha1.ProgressStatus
		resume     int64
		step       *int64
		want       *v1alpha1.ProgressStatus
	}{
		"no last word":           {"there is nothing to add", heard(2, 300), heard(2, 250), 0, nil, heard(2, 300)},
		"the same":               {"the report says more", heard(2, 300), nil, 0, new(int64(300)), heard(2, 300)},
		"the last report lost":   {"the last word is newer", heard(2, 300), nil, 0, new(int64(1000)), &v1alpha1.ProgressStatus{Attempt: 2, Step: 1000, TotalSteps: 1000, Percent: new(int32(100)), ReportedTime: metav1.NewTime(now)}},
		"no report in this life": {"the status knows the total", nil, heard(2, 300), 150, new(int64(1000)), &v1alpha1.ProgressStatus{Attempt: 2, Step: 1000, TotalSteps: 1000, Percent: new(int32(100)), ReportedTime: metav1.NewTime(now)}},
		"never a report":         {"the status is of the attempt before", nil, heard(1, 150), 150, new(int64(160)), &v1alpha1.ProgressStatus{Attempt: 2, Step: 160, ReportedTime: metav1.NewTime(now)}},
		"nothing was trained":    {"it ended where it began", nil, heard(1, 150), 150, new(int64(150)), nil},
	}
	for name, c := range cases {
		job := &v1alpha1.TrainingJob{Status: v1alpha1.TrainingJobStatus{Attempt: 2, Progress: c.old}}
		if c.resume > 0 {
			job.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: &v1alpha1.CheckpointPoint{Step: c.resume}}
		}
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: now}, Checkpoints: observation.Checkpoints{Step: c.step}}
		if diff := cmp.Diff(c.want, finalProgress(o, &job.Status, c.heard)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// TestResumption: a gang that runs again after an interruption is counted, however short its run was.
func TestResumption(t *testing.T) {
	begin := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	queued, running, draining, suspended := v1alpha1.PhaseQueued, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining, v1alpha1.PhaseSuspended
	for name, c := range map[string]struct {
		phases []v1alpha1.Phase
		times  []int // in seconds
		want   int64 // -1: no resumption
	}{
		"never ran":               {[]v1alpha1.Phase{queued}, []int{0}, -1},
		"ended before it ran":     {[]v1alpha1.Phase{queued, draining, queued}, []int{0, 1, 2}, -1},
		"interrupted":             {[]v1alpha1.Phase{queued, running, draining, queued}, []int{0, 2, 5, 6}, 5},
		"within a second":         {[]v1alpha1.Phase{queued, running, draining, queued}, []int{5, 5, 5, 5}, 5},
		"paused":                  {[]v1alpha1.Phase{queued, running, draining, suspended, queued}, []int{0, 2, 5, 6, 7}, -1},
		"paused within a second":  {[]v1alpha1.Phase{queued, running, draining, suspended, queued}, []int{5, 5, 5, 5, 5}, -1},
		"paused and interrupted":  {[]v1alpha1.Phase{queued, running, draining, suspended, queued, running, draining, queued}, []int{0, 1, 2, 2, 3, 4, 4, 4}, 6},
		"interrupted, not placed": {[]v1alpha1.Phase{queued, running, draining, queued, draining, queued}, []int{0, 1, 2, 3, 7, 7}, 8},
		"paused, not placed":      {[]v1alpha1.Phase{queued, running, draining, suspended, queued, draining, queued}, []int{0, 1, 2, 3, 4, 7, 7}, -1},
	} {
		job := &v1alpha1.TrainingJob{}
		for i, phase := range c.phases {
			job.Status.Transitions = append(job.Status.Transitions, v1alpha1.Transition{Phase: phase, Time: metav1.NewTime(begin.Add(time.Duration(c.times[i]) * time.Second))})
		}
		job.Status.Phase = queued
		o := &observation.Observation{Snapshot: observation.Snapshot{Job: job, Now: begin.Add(10 * time.Second)}}
		p := decision.NewPlan(o)
		p.Status.Phase = running
		Account(o, p, decision.Outcome{})
		got := int64(-1)
		if p.Status.Work.Resumptions > 0 {
			got = p.Status.Work.ResumeSeconds
		}
		if got != c.want {
			t.Errorf("%s: ran again after %d s, want %d", name, got, c.want)
		}
	}
}

func TestSuggestedInterval(t *testing.T) {
	cases := map[string]struct {
		save          int32
		running       int64
		interruptions int32
		want          int32
	}{
		"Young's own example, 1974: 10 s, 24 h":      {10, 86400, 1, 1314},
		"half the time between interruptions":        {10, 86400, 2, 929},
		"not less than a save takes":                 {600, 100, 1, 600},
		"a save of a second, interrupted all day":    {1, 3600, 60, 10},
		"bounds of all numbers give a number at all": {1 << 30, 1 << 62, 1, 1<<31 - 1},
	}
	for name, c := range cases {
		if got := suggestedInterval(c.save, c.running, c.interruptions); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
