package meter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// change is a write of the status, as statusWriter makes it.
type change struct{ from, to v1alpha1.TrainingJobStatus }

// countAll counts changes of one job, one after the other.
func countAll(t *testing.T, changes ...change) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	states := memory.NewJobStates()
	for _, c := range changes {
		j := jobtest.Bert(2)
		j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
		j.Status = c.from
		statusChange{m, j, &c.to, jobtest.Start.Add(time.Minute), states.EmitOnce}.count()
	}
	return jobtest.Counted(t, registry)
}

// history of a job, seconds after the jobtest.Start.
func history(phases ...any) []v1alpha1.Transition {
	var ts []v1alpha1.Transition
	for i := 0; i < len(phases); i += 2 {
		after := time.Duration(phases[i+1].(int)) * time.Second
		ts = append(ts, v1alpha1.Transition{
			Phase: phases[i].(v1alpha1.Phase), Time: metav1.NewTime(jobtest.Start.Add(after)), Reason: "Foreign",
		})
	}
	return ts
}

func inQueue(s v1alpha1.TrainingJobStatus) v1alpha1.TrainingJobStatus {
	s.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerVolcano, Queue: "research"}
	s.GPUs, s.Replicas, s.Attempt = 8, 2, 1
	return s
}

// placed sets how many of two ranks hold a node.
func placed(s v1alpha1.TrainingJobStatus, n int32) v1alpha1.TrainingJobStatus {
	s.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.RoleWorker: {Replicas: 2, Active: n}}
	return s
}

func TestStatusChangesAreCounted(t *testing.T) {
	const queued, running, draining = v1alpha1.PhaseQueued, v1alpha1.PhaseRunning, v1alpha1.PhaseDraining
	status := func(
		phase v1alpha1.Phase, h []v1alpha1.Transition, w *v1alpha1.WorkStatus,
	) v1alpha1.TrainingJobStatus {
		return inQueue(v1alpha1.TrainingJobStatus{Phase: phase, Transitions: h, Work: w})
	}
	ended := func(phase v1alpha1.Phase, reason string) v1alpha1.TrainingJobStatus {
		began, over := metav1.NewTime(jobtest.Start), metav1.NewTime(jobtest.Start.Add(2*time.Hour))
		s := status(phase, history(running, 0, phase, 7200), nil)
		s.Transitions[1].Reason = reason
		s.StartTime, s.CompletionTime = &began, &over
		return s
	}
	preempted := status(draining, history(running, 10, draining, 110), &v1alpha1.WorkStatus{RunningSeconds: 100})
	preempted.Drain = &v1alpha1.DrainStatus{Cause: v1alpha1.CauseDisruption, Reason: v1alpha1.ReasonPreempted}
	requeued := status(queued, history(draining, 110, queued, 115),
		&v1alpha1.WorkStatus{RunningSeconds: 100, LostSeconds: 30, LostGPUSeconds: 240, Interruptions: 1})
	requeued.Preemptions, requeued.Attempt = 1, 2
	foreign := *preempted.DeepCopy()
	foreign.Drain.Reason = "PodsReadyTimeout"
	wait := history(queued, 20)
	across := inQueue(placed(status(running, wait, nil), 2))
	across.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionTopologyKept, Status: metav1.ConditionFalse}}
	tests := map[string]struct {
		reason  string
		changes []change
		want    map[string]float64
	}{
		"seen first": {"a job is created once", []change{
			{v1alpha1.TrainingJobStatus{}, status(queued, wait, nil)},
			{status(queued, wait, nil), status(queued, wait, nil)},
		}, map[string]float64{
			"created_total[namespace=default]":             1,
			"transitions_total[phase=Queued reason=Other]": 1,
		}},
		"completed": {"with the time since it first ran",
			[]change{{status(running, nil, nil), ended(v1alpha1.PhaseSucceeded, v1alpha1.ReasonCompleted)}},
			map[string]float64{
				"completed_total[namespace=default]":                  1,
				"duration_seconds[namespace=default state=Succeeded]": 7200,
				"transitions_total[phase=Succeeded reason=Completed]": 1,
			}},
		"failed": {"with the reason",
			[]change{{status(draining, nil, nil), ended(v1alpha1.PhaseFailed, v1alpha1.ReasonBackoffLimit)}},
			map[string]float64{
				"failed_total[namespace=default reason=BackoffLimitExceeded]": 1,
				"duration_seconds[namespace=default state=Failed]":            7200,
				"transitions_total[phase=Failed reason=BackoffLimitExceeded]": 1,
			}},
		"preempted": {"with the reason, what it lost, and what of its run was kept",
			[]change{{preempted, requeued}, {requeued, requeued}}, map[string]float64{
				"preemptions_total[namespace=default queue=research reason=Preempted]":   1,
				"interruptions_total[cause=Disruption namespace=default queue=research]": 1,
				"lost_seconds_total[namespace=default queue=research]":                   30,
				"lost_gpu_seconds_total[namespace=default queue=research]":               240,
				"useful_gpu_seconds_total[namespace=default queue=research]":             560,
				"transitions_total[phase=Queued reason=Other]":                           1,
			}},
		"a reason of a scheduler": {"its text makes no series",
			[]change{{foreign, requeued}}, map[string]float64{
				"preemptions_total[namespace=default queue=research reason=Other]":       1,
				"interruptions_total[cause=Disruption namespace=default queue=research]": 1,
				"lost_seconds_total[namespace=default queue=research]":                   30,
				"lost_gpu_seconds_total[namespace=default queue=research]":               240,
				"useful_gpu_seconds_total[namespace=default queue=research]":             560,
				"transitions_total[phase=Queued reason=Other]":                           1,
			}},
		"a run that ends with the job": {"all of it is useful",
			[]change{{status(running, nil, nil), status(v1alpha1.PhaseSucceeded, nil,
				&v1alpha1.WorkStatus{RunningSeconds: 100})}}, map[string]float64{
				"completed_total[namespace=default]":                          1,
				"running_seconds_total[namespace=default queue=research]":     100,
				"running_gpu_seconds_total[namespace=default queue=research]": 800,
				"useful_gpu_seconds_total[namespace=default queue=research]":  800,
			}},
		"placed": {"when the last rank has a node, once in an attempt", []change{
			{placed(status(queued, wait, nil), 0), placed(status(running, wait, nil), 1)},
			{placed(status(running, wait, nil), 1), placed(status(running, wait, nil), 2)},
			{placed(status(running, wait, nil), 2), placed(status(running, wait, nil), 1)},
			{placed(status(running, wait, nil), 1), placed(status(running, wait, nil), 2)},
		}, map[string]float64{
			"placement_seconds[namespace=default queue=research]": 40,
			"transitions_total[phase=Running reason=Other]":       1,
		}},
		"placed across domains": {"once, and again in the next attempt", []change{
			{placed(status(running, wait, nil), 2), across}, {across, across},
			{placed(status(running, wait, nil), 2), across},
		}, map[string]float64{"placed_across_domains_total[scheduler=volcano]": 2}},
		"runs": {"the wait by queue and priority",
			[]change{{status(queued, wait, nil),
				status(running, nil, &v1alpha1.WorkStatus{QueuedSeconds: 25})}},
			map[string]float64{"queued_seconds[namespace=default priority=high queue=research]": 25}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, countAll(t, tc.changes...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSeriesBeginAtZero: what a namespace or a queue has first of its kind is seen, since its series was
// there before. A queue has series only when a gang of it has nodes: until then its name is any text.
func TestSeriesBeginAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	series := func() map[string]int {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, f := range families {
			if name := f.GetName(); !strings.HasPrefix(name, "trainingjob_operator_") {
				n[strings.TrimPrefix(name, "trainingjob_")] = len(f.GetMetric())
			}
		}
		return n
	}
	want := series()
	j := jobtest.Bert(2)
	j.Status = inQueue(v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued})
	for name, n := range map[string]int{"completed_total": 1, "failed_total": 4, "duration_seconds": 2} {
		want[name] = n
	}
	m.BeginSeries(j)
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("it is queued (-want +got):\n%s", diff)
	}
	j.Status.Phase = v1alpha1.PhaseStarting
	for name, n := range map[string]int{
		"preemptions_total": 7, "interruptions_total": 11, "lost_steps_total": 1, "lost_seconds_total": 1,
		"lost_gpu_seconds_total": 1, "running_seconds_total": 1, "running_gpu_seconds_total": 1,
		"useful_gpu_seconds_total": 1, "queued_seconds": 1, "placement_seconds": 1, "resume_seconds": 1,
	} {
		want[name] = n
	}
	m.BeginSeries(j)
	m.BeginSeries(j)
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("it has nodes (-want +got):\n%s", diff)
	}
	if got := jobtest.Counted(t, registry); len(got) > 0 {
		t.Errorf("it has counted %v", got)
	}
}

// TestUsersDoNotMakeSeries: a user who edits the queue of job after job fills no memory.
func TestUsersDoNotMakeSeries(t *testing.T) {
	var changes []change
	for i := range 3 * maxQueues {
		from := inQueue(v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued})
		from.Scheduling.Queue = fmt.Sprint("queue-", i)
		to := from
		to.Phase, to.Work = v1alpha1.PhaseRunning, &v1alpha1.WorkStatus{QueuedSeconds: 1}
		changes = append(changes, change{from, to})
	}
	if n := len(countAll(t, changes...)); n != maxQueues+1 {
		t.Errorf("%d series, want one for each of %d queues and Other", n, maxQueues)
	}
}

// TestForecastsAreCounted: each result counts once.
func TestForecastsAreCounted(t *testing.T) {
	with := func(result v1alpha1.ForecastResult) v1alpha1.TrainingJobStatus {
		s := inQueue(v1alpha1.TrainingJobStatus{})
		s.Scheduling.FirstForecast = &v1alpha1.FirstForecast{Position: 3, Result: result}
		return s
	}
	without := inQueue(v1alpha1.TrainingJobStatus{})
	counted := countAll(t,
		change{without, without}, change{without, with("")}, change{with(""), with("Late")},
		change{with("Late"), with("Late")}, change{with("Late"), without}, change{without, with("")},
		change{with(""), with("Held")}, change{with(""), without},
	)
	got := map[string]float64{}
	for name, n := range counted {
		if strings.HasPrefix(name, "forecasts_total") {
			got[name] = n
		}
	}
	want := map[string]float64{
		"forecasts_total[positions=2-5 result=Held scheduler=volcano]": 1,
		"forecasts_total[positions=2-5 result=Late scheduler=volcano]": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
