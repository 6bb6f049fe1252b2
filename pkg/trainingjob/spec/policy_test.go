package spec

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
)

// TestRevision checks which changes of a job end its attempt.
func TestRevision(t *testing.T) {
	base := Revision(jobtest.New(2))
	type run = v1alpha1.RunPolicy
	policy := func(edit func(*run)) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { edit(&j.Spec.RunPolicy) }
	}
	cases := map[string]struct {
		edit    func(*v1alpha1.TrainingJob)
		changes bool
	}{
		"replicas":         {func(j *v1alpha1.TrainingJob) { j.Spec.Replicas = new(int32(3)) }, true},
		"image":            {func(j *v1alpha1.TrainingJob) { j.Spec.Image = "bert:2" }, true},
		"minAvailable":     {policy(func(p *run) { p.SchedulingPolicy.MinAvailable = new(int32(1)) }), true},
		"suspend":          {policy(func(p *run) { p.Suspend = new(true) }), false},
		"backoffLimit":     {func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(9)) }, false},
		"deadline":         {policy(func(p *run) { p.ActiveDeadlineSeconds = new(int64(9)) }), false},
		"time to live":     {policy(func(p *run) { p.TTLSecondsAfterFinished = new(int32(9)) }), false},
		"clean pod policy": {policy(func(p *run) { p.CleanPodPolicy = v1alpha1.CleanPodAll }), false},
		"a label":          {func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{"team": "a"} }, false},
	}
	for name, c := range cases {
		if got := Revision(jobtest.New(2, c.edit)) != base; got != c.changes {
			t.Errorf("%s: a new revision %t, want %t", name, got, c.changes)
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
	labelled := func(j *v1alpha1.TrainingJob) {
		j.Labels = map[string]string{v1alpha1.LabelKueueQueue: "research"}
	}
	running, suspended := recorded(v1alpha1.PhaseRunning), recorded(v1alpha1.PhaseSuspended)
	cases := map[string]struct {
		job       *v1alpha1.TrainingJob
		byConfig  string
		available []string
		want      string
	}{
		"what the cluster serves":         {jobtest.New(1), "", []string{"native", "volcano"}, "native"},
		"the configuration before it":     {jobtest.New(1), "volcano", []string{"native"}, "volcano"},
		"the job before both":             {jobtest.New(1, inSpec), "native", []string{"native"}, "volcano"},
		"a running job keeps what it has": {jobtest.New(1, inSpec, running), "volcano", nil, "native"},
		"a suspended job may change":      {jobtest.New(1, inSpec, suspended), "", nil, "volcano"},
		"none":                            {jobtest.New(1), "", nil, ""},
		"a queue of Kueue before the configuration": {
			jobtest.New(1, labelled), "volcano", []string{"volcano", "kueue"}, "kueue",
		},
		"a queue's label without Kueue": {jobtest.New(1, labelled), "", []string{"volcano"}, "volcano"},
	}
	for name, c := range cases {
		if got := ChooseScheduler(c.job, c.byConfig, c.available); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
