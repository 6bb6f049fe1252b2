package controller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

var forecasting = &forecaster.Options{Horizon: 7 * 24 * time.Hour, Considered: 16}

// stepsOf jobs, as the report server measures them.
type stepsOf map[types.UID]forecast.Steps

func (s stepsOf) Steps(job types.UID) (int32, forecast.Steps, bool) {
	steps, known := s[job]
	return 1, steps, known
}

// trained are 10 steps in each 10 s until now, of so many.
func trained(now time.Time, total int64) forecast.Steps {
	s := forecast.Steps{Total: total}
	for i := range int64(6) {
		at := now.Add(time.Duration(i-5) * 10 * time.Second)
		s.Times = append(s.Times, forecast.StepTime{Step: 10 + 10*i, At: at})
	}
	return s
}

// estimate makes one pass of the forecaster.
func (f *fixture) estimate() []types.NamespacedName {
	f.t.Helper()
	wake, err := f.r.gatherer.forecaster.Estimate(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return wake
}

// TestForecastChangesNoOtherWrite plays the contest of TestPreemptionOffWritesNothingNew with forecasts.
// Without those that only have a forecast, the writes are those without forecasts.
func TestForecastChangesNoOtherWrite(t *testing.T) {
	for _, backend := range []scheduler.Backend{
		native.New(native.Options{}), volcano.New(volcano.Options{}), coscheduling.New(coscheduling.Options{}),
		kueue.New(kueue.Options{}),
	} {
		t.Run(backend.Name(), func(t *testing.T) {
			t.Parallel()
			c := newContest(t, backend, nil)
			c.options.Forecasting = forecasting
			c.restart()
			c.play()
			before, err := os.ReadFile(filepath.Join("testdata", "off", backend.Name()+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(before), c.log.String()); diff != "" {
				t.Errorf("(-off +on):\n%s", diff)
			}
			if c.forecasts == 0 {
				t.Error("no forecast was written: the test shows nothing")
			}
		})
	}
}

// TestForecast: the end of a job that reports makes the start of the one that waits for its node known.
func TestForecast(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.options.Forecasting = forecasting
	f.options.Steps = stepsOf{"uid-fresh": trained(f.clock.Now(), 3660)}
	f.restart()
	f.sync()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
	f.sync()
	began := f.clock.Now()
	woken := f.estimate()
	if len(woken) != 3 {
		t.Errorf("woken are %v, not the three jobs", woken)
	}
	f.wants("the forecast", "patch TrainingJob/status bert")
	f.sync()
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: began.Add(after)} }
	want := &v1alpha1.EstimatedStart{
		Position: 1, ObservedTime: *at(0), Earliest: at(401 * time.Second), Unknown: v1alpha1.StartNotCalibrated,
		Behind: []v1alpha1.StartDependency{{
			What: v1alpha1.DependsOnEnd, Name: "fresh", Time: at(3590 * time.Second), GPUs: 8,
			Basis: v1alpha1.ForecastSteps,
		}},
	}
	status := f.job().Status.Scheduling
	if diff := cmp.Diff(want, status.EstimatedStart, cmp.Comparer(sameTime)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first := &v1alpha1.FirstForecast{ // a length of 3590 s with a deviation of about a tenth
		Earliest: *at(3147 * time.Second), Latest: *at(4094 * time.Second), Position: 1, SpreadPercent: 100,
		ObservedTime: *at(0),
	}
	if diff := cmp.Diff(first, status.FirstForecast, cmp.Comparer(sameTime)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	end := &v1alpha1.EstimatedEnd{Unknown: v1alpha1.EndLengthUnknown, ObservedTime: *at(0)}
	if diff := cmp.Diff(end, status.EstimatedEnd, cmp.Comparer(sameTime)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 4 {
		f.clock.Step(10 * time.Second)
		f.estimate()
		f.wants("nothing has changed")
	}
	f.r.gatherer.forecaster.Steps = stepsOf{}
	f.clock.Step(5 * time.Second)
	f.estimate()
	f.wants("less than a minute has passed since the last write")
	f.clock.Step(time.Minute)
	f.estimate()
	f.wants("its start is not known any more", "patch TrainingJob/status bert")
	if s := f.job().Status.Scheduling.EstimatedStart; s.Unknown != v1alpha1.StartNoEndKnown || s.Time != nil {
		t.Errorf("it is %+v", s)
	}
}

// judged adds jobs whose forecasts were judged, and waits with bert for a forecast.
func (f *fixture) judged(held, late int) {
	f.t.Helper()
	f.options.Forecasting = forecasting
	f.options.Steps = stepsOf{"uid-fresh": trained(f.clock.Now(), 3660)}
	for i := range held + late {
		job, _ := lowJob(fmt.Sprintf("judged-%d", i), "a", time.Minute)
		given := metav1.NewTime(f.clock.Now().Add(-time.Duration(1+i) * time.Hour))
		first := &v1alpha1.FirstForecast{
			Earliest: given, Latest: given, Position: 1, SpreadPercent: 100, ObservedTime: given,
			Result: v1alpha1.ForecastHeld, JudgedTime: &given,
		}
		if i >= held {
			first.Result = v1alpha1.ForecastLate
		}
		job.Status.Phase, job.Status.Scheduling.FirstForecast = v1alpha1.PhaseSucceeded, first
		if err := f.store.Create(f.t.Context(), job); err != nil {
			f.t.Fatal(err)
		}
	}
	f.restart()
	f.sync()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
	f.sync()
	f.estimate()
	f.wants("the forecast", "patch TrainingJob/status bert")
	f.sync()
}

// TestForecastIsCalibrated by the statuses of jobs: a new process shows the same.
func TestForecastIsCalibrated(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.judged(29, 1)
	status := f.job().Status.Scheduling
	s, first := status.EstimatedStart, status.FirstForecast
	if s.Unknown != "" || s.Time == nil || s.HitPercent != 96 || s.HitOf != 30 {
		t.Fatalf("it is %+v", s)
	}
	if !s.Earliest.Equal(&first.Earliest) || !s.Latest.Equal(&first.Latest) || first.SpreadPercent != 90 {
		t.Errorf("%+v is shown, and %+v judged; the spread shrinks since almost all held", s, first)
	}
	for range 3 {
		f.restart()
		f.sync()
		f.clock.Step(20 * time.Second)
		if woken := f.estimate(); len(woken) != 0 && woken[0] == bertName {
			t.Errorf("a new process wakes %v", woken)
		}
		f.wants("a new process writes nothing")
	}
}

// TestForecastIsNotCalibrated: too few forecasts held. Position and dependencies stay.
func TestForecastIsNotCalibrated(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.judged(19, 11)
	s := f.job().Status.Scheduling.EstimatedStart
	if s.Unknown != v1alpha1.StartNotCalibrated || s.Time != nil || s.Latest != nil || s.HitPercent != 63 ||
		s.HitOf != 30 || s.Position != 1 || len(s.Behind) != 1 || s.Earliest == nil {
		t.Errorf("it is %+v", s)
	}
}

// TestForecastRemembersDeletedJobs: who deletes a job does not change the hits. Only another process does not
// know them.
func TestForecastRemembersDeletedJobs(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.judged(30, 0)
	for i := range 30 {
		job, _ := lowJob(fmt.Sprintf("judged-%d", i), "a", time.Minute)
		if err := f.store.Delete(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.Step(2 * time.Minute)
	f.estimate()
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.sync()
	if s := f.job().Status.Scheduling.EstimatedStart; s.Unknown != "" || s.HitOf != 30 {
		t.Errorf("in the same process it is %+v", s)
	}
	f.restart()
	f.sync()
	f.clock.Step(2 * time.Minute)
	f.estimate()
	f.wants("its start is not known any more", "patch TrainingJob/status bert")
	if s := f.job().Status.Scheduling.EstimatedStart; s.Unknown != v1alpha1.StartNotCalibrated || s.HitOf != 0 {
		t.Errorf("in another process it is %+v", s)
	}
}

// TestForecastIsLate: a gang that waits longer than first estimated counts as a miss at once. The operator is
// killed in between.
func TestForecastIsLate(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.judged(20, 10)
	latest := f.job().Status.Scheduling.FirstForecast.Latest
	f.clock.Step(2 * time.Hour)
	f.options.Steps = stepsOf{"uid-fresh": trained(f.clock.Now(), 3660)}
	for range 2 {
		f.restart()
		f.sync()
		f.estimate()
	}
	f.wants("it is late", "patch TrainingJob/status bert")
	f.sync()
	s := f.job().Status.Scheduling
	if s.FirstForecast.Result != v1alpha1.ForecastLate || !s.FirstForecast.JudgedTime.Equal(&latest) {
		t.Errorf("it is %+v", s.FirstForecast)
	}
	if s.EstimatedStart.HitOf != 31 || s.EstimatedStart.HitPercent != 64 ||
		s.EstimatedStart.Unknown != v1alpha1.StartNotCalibrated {
		t.Errorf("20 of 31 held, and it shows %+v", s.EstimatedStart)
	}
	f.estimate()
	f.wants("nothing is written twice")
}

// TestForecastIsRemoved: without forecasts the operator removes an old one, together with another change.
func TestForecastIsRemoved(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.options.Forecasting = forecasting
	f.restart()
	f.sync()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	f.estimate()
	f.wants("the forecast", "patch TrainingJob/status bert")
	f.sync()
	f.options.Forecasting = nil
	f.restart()
	f.sync()
	f.wants("it causes no write")
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
	if s := f.job().Status.Scheduling; s.EstimatedStart != nil || s.EstimatedEnd != nil {
		t.Errorf("the status still has %+v and %+v", s.EstimatedStart, s.EstimatedEnd)
	}
}

// TestForecastUnknown: each reason why the start is unknown.
func TestForecastUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		edit   func(*fixture)
		want   v1alpha1.StartUnknown
	}{
		"no reports": {
			reason: "neither job reports", edit: func(*fixture) {}, want: v1alpha1.StartNoEndKnown,
		},
		"an autoscaler": {
			reason: "waiting pods may bring nodes", want: v1alpha1.StartSchedulerDecides,
			edit: func(f *fixture) {
				f.dependencies.autoscaler = backends.NewAutoscaler(backends.NodeAutoscalerPresent, nil, nil, f.clock)
			},
		},
		"the horizon": {
			reason: "the job ends after it", want: v1alpha1.StartTooFarAhead,
			edit: func(f *fixture) {
				f.options.Forecasting = &forecaster.Options{Horizon: time.Hour, Considered: 16}
				late := trained(f.clock.Now(), 1e6)
				f.options.Steps = stepsOf{"uid-fresh": late, "uid-stale": late}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := crowdedFixture(t, nil)
			f.options.Forecasting = forecasting
			tc.edit(f)
			f.restart()
			f.sync()
			f.wants("it is queued", queued...)
			f.wants("its rank waits", created[:3]...)
			f.sync()
			f.estimate()
			f.wants("the forecast", "patch TrainingJob/status bert")
			if s := f.job().Status.Scheduling.EstimatedStart; s == nil || s.Unknown != tc.want {
				t.Errorf("%s: %+v, want %s", tc.reason, s, tc.want)
			}
		})
	}
}

// TestForecasterIsIdle: while nodes and pods are not known, it does not list the jobs.
func TestForecasterIsIdle(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.options.Forecasting = forecasting
	f.restart()
	p := f.r.gatherer.forecaster
	p.Client = unreadable{}
	p.State = &backends.ClusterState{Cluster: clusterstate.New(memory.JobKind.Kind)}
	if _, err := p.Estimate(t.Context()); err != nil {
		t.Error("the cluster is not known:", err)
	}
}

// TestForecasterRests: a pass is followed by a rest of a minute, and ends with the manager.
func TestForecasterRests(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.options.Forecasting = forecasting
	f.restart()
	p := f.r.gatherer.forecaster
	passes := make(chan struct{})
	p.Waker = wakeFunc(func() { passes <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Start(ctx) }()
	for range 3 {
		for !f.clock.HasWaiters() {
			select {
			case <-passes:
				t.Fatal("it does not rest")
			default:
			}
		}
		f.clock.Step(time.Minute)
		<-passes
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BenchmarkEstimate is one pass over 26 running gangs and 10,000 that wait. BenchmarkForecast of pkg/forecast
// has the plays in a large cluster.
func BenchmarkEstimate(b *testing.B) {
	f := newFixture(b, bert(1))
	f.options.Forecasting = &forecaster.Options{Horizon: 7 * 24 * time.Hour, Considered: 256}
	var gpus []string
	for range 26 {
		gpus = append(gpus, "8")
	}
	state := f.withNodes(backends.NodeAutoscalerAbsent, gpus...)
	for i := range 26 {
		job, pod := lowJob(fmt.Sprintf("r%d", i), string(rune('a'+i)), time.Minute)
		state.SetPod(pod)
		if err := f.store.Create(b.Context(), job); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 10_000 {
		job := largeBert("8")
		job.Name, job.UID = fmt.Sprintf("w%d", i), types.UID(fmt.Sprintf("uid-w%d", i))
		job.Status.Phase = v1alpha1.PhaseQueued
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerNative}
		if err := f.store.Create(b.Context(), job); err != nil {
			b.Fatal(err)
		}
	}
	f.sync()
	b.ReportAllocs()
	for b.Loop() {
		f.estimate()
	}
}
