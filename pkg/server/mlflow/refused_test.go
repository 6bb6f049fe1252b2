package mlflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// running is a job that runs.
func running(name string, edits ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := newJob(name)
	enter(j, 1, v1alpha1.PhaseRunning, 1, v1alpha1.ReasonGangRunning)
	for _, e := range edits {
		e(j)
	}
	return j
}

// TestOddJobs: what MLflow does not take keeps nothing else back, and no other job.
func TestOddJobs(t *testing.T) {
	experiment := func(name string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: name}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		edit   func(*v1alpha1.TrainingJob)
		kind   string
		count  float64
		// says is part of what the run says; none where there is no run.
		says []string
	}{
		"an experiment of its own": {
			"the annotation names it", experiment("Größe/実験"), "", 0, []string{"parameter lr = 0.001"},
		},
		"an experiment that was no UTF-8": {
			"the bytes are lost before they are recorded", experiment("caf\xe9"), refusedExperiment, 1, nil,
		},
		"an experiment with a control character": {
			"it is shown in terminals", experiment("a\x1b[2J"), refusedExperiment, 1, nil,
		},
		"many parameters": {
			"a batch takes 100", func(j *v1alpha1.TrainingJob) {
				for i := range 250 {
					j.Spec.Hyperparameters["p"+strings.Repeat("x", i)] = "1"
				}
			}, "", 0, []string{"parameter p = 1", "parameter p" + strings.Repeat("x", 249) + " = 1"},
		},
		"a long parameter": {
			"6000 bytes are taken", func(j *v1alpha1.TrainingJob) {
				j.Spec.Hyperparameters["prompt"] = v1alpha1.TextHyperparameter(strings.Repeat("é", 5000))
			}, "", 0, []string{"prompt = " + strings.Repeat("é", 2998) + "…\n"},
		},
		"metrics that are none": {
			"the others are sent", func(j *v1alpha1.TrainingJob) {
				report(j, 2, 7, map[string]string{"loss": "0.5", "note": "fine", "grad@norm": "1e400", "..": "1"})
			}, refusedMetric, 2, []string{"metric loss", "= 0.5", "metric grad_norm", "= Infinity"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newJob("odd"), newJob("other"))
			e := f.exporter()
			f.record(running("odd", tc.edit))
			f.record(running("other"))
			f.converge(e)
			var odd, other *fakeRun
			for _, r := range f.mlflow.active() {
				if r.name == "odd" {
					odd = r
				} else {
					other = r
				}
			}
			if other == nil {
				t.Fatal("the other job has no run")
			}
			if tc.kind != "" {
				if got := testutil.ToFloat64(e.metrics.refused.WithLabelValues(tc.kind)); got != tc.count {
					t.Errorf("%s: %v are counted as refused", tc.reason, got)
				}
			}
			if (odd == nil) != (tc.says == nil) {
				t.Fatalf("%s: the run is %v", tc.reason, odd)
			}
			for _, s := range tc.says {
				if !strings.Contains(odd.text(), s) {
					t.Errorf("%s: no %q in\n%s", tc.reason, s, odd.text())
				}
			}
		})
	}
}

// TestTrainerWasFirst: it has logged a parameter with another spelling of its value. Its own stays, and the
// other parameters are there.
func TestTrainerWasFirst(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e := f.exporter()
	f.mlflow.before = func(call string, _ int) int {
		for _, r := range f.mlflow.runs {
			if call == callLogBatch {
				r.params["amp"] = "True"
			}
		}
		return 0
	}
	f.record(running("bert"))
	f.converge(e)
	text := f.run().text()
	for _, s := range []string{"parameter amp = True", "parameter lr = 0.001", "parameter optimizer = adam"} {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
	if got := testutil.ToFloat64(e.metrics.refused.WithLabelValues(refusedParameter)); got != 1 {
		t.Errorf("%v parameters are counted", got)
	}

	prefixed := newFixture(t, newJob("bert"))
	prefixed.record(running("bert"))
	prefixed.converge(prefixed.exporter(func(o *Options) { o.Config.ParameterPrefix = "job/" }))
	if text := prefixed.run().text(); !strings.Contains(text, "parameter job/amp = true") {
		t.Errorf("no prefix in\n%s", text)
	}
}

// TestDeletedRun: a run that a user deleted is not created again, and no more requests are sent.
func TestDeletedRun(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	e, j := f.exporter(), running("bert")
	f.record(j)
	f.converge(e)
	f.run().stage = stageDeleted
	report(j, 2, 10, map[string]string{"loss": "1"})
	f.record(j)
	f.converge(e)
	before := f.mlflow.requests
	report(j, 3, 20, map[string]string{"loss": "1"})
	f.record(j)
	f.converge(e)
	if len(f.mlflow.runs) != 1 || f.mlflow.requests != before {
		t.Errorf("%d runs, %d more requests", len(f.mlflow.runs), f.mlflow.requests-before)
	}
}

// TestDeletedExperiment: its jobs wait until it is restored, and no others.
func TestDeletedExperiment(t *testing.T) {
	f := newFixture(t, newJob("bert"), newJob("other"))
	e := f.exporter()
	f.mlflow.experiments["team-a"] = &experiment{ID: "7", Name: "team-a", Stage: stageDeleted}
	f.record(running("bert"))
	f.record(running("other", func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: "another"}
	}))
	if err := f.pass(e); err != nil {
		t.Errorf("one job's experiment stops all: %v", err)
	}
	if got := f.run().name; got != "other" {
		t.Errorf("the run is %s's", got)
	}
	if got := testutil.ToFloat64(e.metrics.failures.WithLabelValues()); got != 1 {
		t.Errorf("%v failures", got)
	}
	f.mlflow.experiments["team-a"].Stage = "active"
	f.converge(e)
	if got := len(f.mlflow.active()); got != 2 {
		t.Errorf("%d runs", got)
	}
}

// TestDeniedExperiment: a job whose experiment the server's user may not change waits until it may, and no
// other job waits. Nothing of the job is lost.
func TestDeniedExperiment(t *testing.T) {
	for name, denied := range map[string][]string{
		"nothing is allowed":    calls(),
		"it may read":           {callCreateRun, callLogBatch, callUpdateRun, callDeleteRun},
		"it may create runs":    {callLogBatch, callUpdateRun, callDeleteRun},
		"it may not even check": {callLogBatch, callGetRun},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newJob("bert"), newJob("other"))
			e := f.exporter()
			f.mlflow.experiments["team-a"] = &experiment{ID: "7", Name: "team-a", Stage: "active"}
			f.mlflow.denied = map[string][]string{"team-a": denied}
			f.record(running("bert"))
			f.record(running("other", func(j *v1alpha1.TrainingJob) {
				j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: "another"}
			}))
			if err := f.pass(e); err != nil {
				t.Errorf("one job's experiment stops all: %v", err)
			}
			if text := f.runText("other"); !strings.Contains(text, "parameter lr = 0.001") {
				t.Errorf("the other job's run is %q", text)
			}
			if got := testutil.ToFloat64(e.metrics.failures.WithLabelValues()); got != 1 {
				t.Errorf("%v failures", got)
			}
			f.mlflow.denied = nil
			f.converge(e)
			if text := f.runText("bert"); !strings.Contains(text, "parameter lr = 0.001") {
				t.Errorf("with the right the run is %q", text)
			}
			if got := testutil.ToFloat64(e.metrics.refused.WithLabelValues(refusedParameter)); got != 0 {
				t.Errorf("%v parameters are omitted", got)
			}
		})
	}
}

// TestDeniedEverywhere: many jobs without a right keep no other job waiting.
func TestDeniedEverywhere(t *testing.T) {
	const jobs = 3 * failuresInARow
	f := newFixture(t, newJob("young"))
	f.mlflow.experiments["team-a"] = &experiment{ID: "7", Name: "team-a", Stage: "active"}
	f.mlflow.denied = map[string][]string{"team-a": {callCreateRun}}
	for i := range jobs {
		f.record(running(fmt.Sprintf("job-%02d", i))) // its UID comes first
	}
	f.record(running("young", func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationMLflowExperiment: "another"}
	}))
	if err := f.pass(f.exporter()); err != nil {
		t.Error(err)
	}
	if got := f.run().name; got != "young" {
		t.Errorf("the run is that of %s", got)
	}
}

// TestCopies: a job that another cluster dispatched has its run there.
func TestCopies(t *testing.T) {
	f := newFixture(t, newJob("bert"))
	f.record(running("bert", func(j *v1alpha1.TrainingJob) {
		j.Labels = map[string]string{"kueue.x-k8s.io/multikueue-origin": "multikueue"}
	}))
	f.converge(f.exporter())
	if got := len(f.mlflow.runs); got != 0 {
		t.Errorf("%d runs", got)
	}
}

// TestBacklog: jobs that ended long ago do not keep one waiting that goes on, and they are not forgotten.
func TestBacklog(t *testing.T) {
	f := newFixture(t, newJob("young"))
	for i := range 2 * endedAtOnce {
		j := newJob(fmt.Sprintf("old-%02d", i)) // its UID comes first
		enter(j, 1, v1alpha1.PhaseFailed, 1, v1alpha1.ReasonDeadlineExceeded)
		f.record(j)
	}
	f.record(running("young"))
	first := ""
	f.mlflow.after = func(call string, _ int) int {
		for _, r := range f.mlflow.runs {
			if call == callCreateRun && first == "" {
				first = r.name
			}
		}
		return 0
	}
	e := f.exporter()
	if err := f.pass(e); err != nil {
		t.Fatal(err)
	}
	if got := len(f.mlflow.active()); first != "young" || got != endedAtOnce+1 {
		t.Errorf("the first of %d runs is that of %s", got, first)
	}
	f.converge(e)
	if got := len(f.mlflow.active()); got != 2*endedAtOnce+1 {
		t.Errorf("%d runs", got)
	}
}
