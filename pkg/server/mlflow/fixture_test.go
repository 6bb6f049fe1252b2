package mlflow

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

const clusterName = "east"

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// fixture is a history, a cluster and a tracking server.
type fixture struct {
	t       testing.TB
	clock   *clocktesting.FakeClock
	history *store.Store
	cluster ctrlclient.Client
	mlflow  *fake
	version int
}

func newFixture(t testing.TB, jobs ...*v1alpha1.TrainingJob) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects := clientfake.NewClientBuilder().WithScheme(scheme)
	for _, j := range jobs {
		objects = objects.WithObjects(j.DeepCopy())
	}
	return &fixture{
		t: t, clock: clocktesting.NewFakeClock(noon.Add(time.Hour)), cluster: objects.Build(), mlflow: newFake(t),
		history: newHistory(t),
	}
}

// newHistory knows nothing yet.
func newHistory(t testing.TB) *store.Store {
	t.Helper()
	history, err := store.Open(t.Context(), store.Options{
		DSN: "sqlite://" + filepath.Join(t.TempDir(), "history.db"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := history.Close(); err != nil {
			t.Error(err)
		}
	})
	return history
}

// exporter of a replica; edit changes its options.
func (f *fixture) exporter(edit ...func(*Options)) *Exporter {
	f.t.Helper()
	o := Options{
		Config: Config{URL: f.mlflow.URL, RequestsPerSecond: 1000}, Store: f.history, Clock: f.clock,
		Clusters: map[string]ctrlclient.Client{clusterName: f.cluster},
	}
	if t, is := f.t.(*testing.T); is {
		o.Log = testr.New(t)
	}
	for _, e := range edit {
		e(&o)
	}
	e, err := New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

// record a version of a job.
func (f *fixture) record(job *v1alpha1.TrainingJob) {
	f.t.Helper()
	f.version++
	job = job.DeepCopy()
	job.ResourceVersion = fmt.Sprint(f.version)
	err := f.history.Record(f.t.Context(), []history.Record{history.Of(clusterName, job, history.Options{})})
	if err != nil {
		f.t.Fatal(err)
	}
}

// pass lets an exporter send all that is pending, and returns its error.
func (f *fixture) pass(e *Exporter) error {
	f.t.Helper()
	return e.pass(f.t.Context())
}

// converge passes until nothing is pending; failures are waited for.
func (f *fixture) converge(e *Exporter) {
	f.t.Helper()
	for range 100 {
		err := f.pass(e)
		pending, failed := f.history.PendingRuns(f.t.Context(), clusterName, "", 1)
		if failed != nil {
			f.t.Fatal(failed)
		}
		if err == nil && len(pending) == 0 {
			return
		}
		f.clock.Step(2 * longestDelay)
	}
	f.t.Fatal("something is pending after 100 passes")
}

// await that at most so many jobs are pending.
func (f *fixture) await(ctx context.Context, left int) {
	f.t.Helper()
	err := wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pending, err := f.history.PendingRuns(ctx, clusterName, "", store.MaxPage)
		return len(pending) <= left, err
	})
	if err != nil {
		f.t.Fatalf("waiting until %d jobs are pending: %v", left, err)
	}
}

// run of the only job, which there must be.
func (f *fixture) run() *fakeRun {
	f.t.Helper()
	runs := f.mlflow.active()
	if len(runs) != 1 {
		f.t.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

// runText is all that the run of a job says, or "" without a run.
func (f *fixture) runText(name string) string {
	for _, r := range f.mlflow.active() {
		if r.name == name {
			return r.text()
		}
	}
	return ""
}

// annotation of a job in the cluster.
func (f *fixture) annotation(name string) string {
	f.t.Helper()
	job := &v1alpha1.TrainingJob{}
	at := types.NamespacedName{Namespace: "team-a", Name: name}
	if err := f.cluster.Get(f.t.Context(), at, job); err != nil {
		f.t.Fatal(err)
	}
	return job.Annotations[v1alpha1.AnnotationMLflowRunID]
}

// newJob that has just been submitted.
func newJob(name string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-a", UID: types.UID("uid-of-" + name),
			CreationTimestamp: metav1.NewTime(noon),
		},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer:1", Command: []string{"train"},
			Hyperparameters: map[string]v1alpha1.HyperparameterValue{
				"lr": "0.001", "amp": "true", "optimizer": v1alpha1.TextHyperparameter("adam"),
			},
			RunPolicy: v1alpha1.RunPolicy{
				SchedulingPolicy: v1alpha1.SchedulingPolicy{Queue: "research"},
			},
		},
	}
}

// at is so many minutes past noon.
func at(minutes int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))
}

// enter a phase.
func enter(j *v1alpha1.TrainingJob, minutes int, phase v1alpha1.Phase, attempt int32, reason string) {
	j.Status.Phase, j.Status.Attempt = phase, attempt
	j.Status.Transitions = append(j.Status.Transitions,
		v1alpha1.Transition{Time: at(minutes), Phase: phase, Reason: reason})
	if phase.Finished() {
		end := at(minutes)
		j.Status.CompletionTime = &end
	}
}

// report of a step.
func report(j *v1alpha1.TrainingJob, minutes int, step int64, metrics map[string]string) {
	j.Status.Progress = &v1alpha1.ProgressStatus{
		Attempt: j.Status.Attempt, Step: step, Metrics: metrics, ReportedTime: at(minutes),
	}
}

// story records a job that is preempted once, resumes and succeeds. between is called behind every version.
func (f *fixture) story(name string, between func()) {
	f.t.Helper()
	j := newJob(name)
	next := func() { f.record(j); between() }
	next()
	enter(j, 0, v1alpha1.PhaseQueued, 1, v1alpha1.ReasonQueued)
	next()
	enter(j, 1, v1alpha1.PhaseRunning, 1, v1alpha1.ReasonGangRunning)
	next()
	for step := int64(10); step <= 30; step += 10 {
		report(j, 1+int(step/10), step, map[string]string{"loss": fmt.Sprint(1 / float64(step)), "note": "fine"})
		next()
	}
	enter(j, 5, v1alpha1.PhaseDraining, 1, "Preempted")
	next()
	enter(j, 6, v1alpha1.PhaseRestarting, 2, "Preempted")
	j.Status.Preemptions = 1
	next()
	j.Status.Checkpoint = &v1alpha1.CheckpointStatus{
		ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-1/step-20", Step: 20},
	}
	enter(j, 7, v1alpha1.PhaseQueued, 2, v1alpha1.ReasonBackoffOver)
	next()
	enter(j, 8, v1alpha1.PhaseRunning, 2, v1alpha1.ReasonGangRunning)
	next()
	report(j, 9, 30, map[string]string{"loss": "NaN"})
	next()
	enter(j, 10, v1alpha1.PhaseSucceeded, 2, v1alpha1.ReasonCompleted)
	next()
}
