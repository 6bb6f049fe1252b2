package forecaster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func job(name string, edit func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{}
	j.Name, j.Namespace, j.Status.Attempt = name, "team", 1
	if edit != nil {
		edit(j)
	}
	return j
}

func running(j *v1alpha1.TrainingJob) {
	j.Status.Phase = v1alpha1.PhaseRunning
	j.Status.Work = &v1alpha1.WorkStatus{RunningSeconds: 3600}
	j.Status.Transitions = []v1alpha1.Transition{{
		Phase: v1alpha1.PhaseRunning, Time: metav1.NewTime(now.Add(-time.Hour)),
	}}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{
		"bert": "bert", "bert-12": "bert", "bert12": "bert", "llama-7b": "llama-7b",
		"study-trial-0-3": "study-trial-0",
	} {
		if got := stem(job(name, nil)); got != want {
			t.Errorf("the stem of %s is %s, want %s", name, got, want)
		}
	}
	generated := job("sweep-x7k2p", func(j *v1alpha1.TrainingJob) { j.GenerateName = "sweep-" })
	if got := stem(generated); got != "sweep" {
		t.Errorf("the stem of a generated name is %s", got)
	}
}

// TestHistory: the closest jobs count, if there are enough, and only those that succeeded in the namespace.
func TestHistory(t *testing.T) {
	var jobs []v1alpha1.TrainingJob
	add := func(n int, name string, hours int64, edit func(*v1alpha1.TrainingJob)) {
		for i := range n {
			jobs = append(jobs, *job(fmt.Sprintf("%s-%d", name, i), func(j *v1alpha1.TrainingJob) {
				j.Status.Phase, j.Status.GPUs = v1alpha1.PhaseSucceeded, 8
				j.Status.Work = &v1alpha1.WorkStatus{RunningSeconds: hours * 3600}
				j.Status.CompletionTime = &metav1.Time{Time: now.Add(-time.Duration(i) * time.Hour)}
				if edit != nil {
					edit(j)
				}
			}))
		}
	}
	add(5, "bert", 1, nil)
	add(4, "gpt", 2, nil)
	add(9, "llama", 3, func(j *v1alpha1.TrainingJob) { j.Namespace = "other" })
	add(9, "crashes", 4, func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseFailed })
	h := historyOf(jobs)
	sized := func(j *v1alpha1.TrainingJob) { j.Status.GPUs = 8 }
	if got := h.similar(job("bert-77", sized)); len(got) != 5 || got[0] != time.Hour {
		t.Errorf("like bert are %v", got)
	}
	if got := h.similar(job("gpt-77", sized)); len(got) != 9 {
		t.Errorf("too few jobs are like gpt: those of its size count, not %v", got)
	}
	for _, name := range []string{"llama-77", "crashes-77"} {
		if got := h.similar(job(name, nil)); len(got) != 0 {
			t.Errorf("like %s are %v", name, got)
		}
	}
}

// oneJob has the steps of a job without a UID.
type oneJob forecast.Steps

func (s oneJob) Steps(types.UID) (int32, forecast.Steps, bool) { return 1, forecast.Steps(s), true }

func TestLengthOfJob(t *testing.T) {
	steps := oneJob{Total: 100}
	for i := range int64(5) {
		steps.Times = append(steps.Times, forecast.StepTime{
			Step: 10 * (i + 1), At: now.Add(time.Duration(i-4) * 10 * time.Second),
		})
	}
	for name, tc := range map[string]struct {
		reason string
		job    *v1alpha1.TrainingJob
		steps  Steps
		want   forecast.Length
	}{
		"reports": {
			reason: "the steps of its attempt count", job: job("a", running), steps: steps,
			want: forecast.Length{
				Time: 50 * time.Second, Low: 43600 * time.Millisecond, Basis: forecast.BasisSteps, StepSeconds: 1,
			},
		},
		"reports of another attempt": {
			reason: "the attempt has reported nothing", steps: steps,
			job:  job("a", func(j *v1alpha1.TrainingJob) { running(j); j.Status.Attempt = 2 }),
			want: forecast.Length{Low: 2 * time.Hour / 9, Missing: forecast.MissingReports},
		},
		"a deadline": {
			reason: "it has run for an hour before this attempt, and for one in it",
			job: job("a", func(j *v1alpha1.TrainingJob) {
				running(j)
				j.Spec.RunPolicy.ActiveDeadlineSeconds = new(int64(9000))
			}),
			want: forecast.Length{
				Time: 30 * time.Minute, Low: 2 * time.Hour / 9, Basis: forecast.BasisDeadline, Most: 30 * time.Minute,
			},
		},
		"a hint": {
			reason: "the user expects three hours",
			job: job("a", func(j *v1alpha1.TrainingJob) {
				running(j)
				j.Spec.RunPolicy.ExpectedSeconds = new(int64(10800))
			}),
			want: forecast.Length{Time: time.Hour, Basis: forecast.BasisExpected},
		},
		"ends": {
			reason: "the operator stops it", want: forecast.Length{},
			job: job("a", func(j *v1alpha1.TrainingJob) { running(j); j.Status.Phase = v1alpha1.PhaseDraining }),
		},
		"waits again": {
			reason: "it trains the steps from its checkpoint on, as fast as before",
			job: job("a", func(j *v1alpha1.TrainingJob) {
				j.Status.Phase = v1alpha1.PhaseQueued
				j.Status.Progress = &v1alpha1.ProgressStatus{
					Step: 50, TotalSteps: 100, ReportedTime: metav1.NewTime(now),
					EstimatedCompletionTime: &metav1.Time{Time: now.Add(100 * time.Second)},
				}
				j.Status.Checkpoint = &v1alpha1.CheckpointStatus{ResumeFrom: &v1alpha1.CheckpointPoint{Step: 40}}
			}),
			want: forecast.Length{
				Time: 120 * time.Second, Low: 73920 * time.Millisecond, Basis: forecast.BasisSteps, StepSeconds: 2,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &description{now: now, steps: tc.steps, history: history{}}
			if diff := cmp.Diff(tc.want, d.lengthOf(tc.job)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestYields: the victims of a plan end at its deadline.
func TestYields(t *testing.T) {
	plan := &v1alpha1.PreemptionStatus{
		Phase: v1alpha1.PreemptionAsking, Deadline: &metav1.Time{Time: now.Add(time.Minute)},
		Victims: []v1alpha1.PreemptionVictim{{UID: "victim"}},
	}
	preemptor := job("urgent", func(j *v1alpha1.TrainingJob) {
		j.Status.Scheduling = &v1alpha1.SchedulingStatus{Preemption: plan}
	})
	d := &description{now: now, yields: yieldsOf([]v1alpha1.TrainingJob{*preemptor})}
	victim := job("victim", func(j *v1alpha1.TrainingJob) { running(j); j.UID = "victim" })
	if got := d.lengthOf(victim); got.Time != time.Minute || !got.Known() {
		t.Errorf("it ends after %+v", got)
	}
	plan.Phase = v1alpha1.PreemptionHandedOver
	if got := yieldsOf([]v1alpha1.TrainingJob{*preemptor}); len(got) != 0 {
		t.Errorf("a plan that is over has the victims %v", got)
	}
}
