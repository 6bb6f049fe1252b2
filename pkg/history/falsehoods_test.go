package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
)

// at is a time, in seconds after the beginning.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// entry of a status.
func entry(seconds int, phase v1alpha1.Phase, reason string) v1alpha1.Transition {
	return v1alpha1.Transition{Time: metav1.NewTime(at(seconds)), Phase: phase, Reason: reason}
}

// version of a job, numbered.
func version(n int, st v1alpha1.TrainingJobStatus) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{Status: st, ObjectMeta: metav1.ObjectMeta{
		Name: "bert", Namespace: "team-a", UID: "1", ResourceVersion: fmt.Sprint(n),
		CreationTimestamp: metav1.NewTime(epoch),
	}}
	if n := len(st.Transitions); n > 0 && st.Phase == "" {
		job.Status.Phase = st.Transitions[n-1].Phase
	}
	return job
}

func of(jobs ...*v1alpha1.TrainingJob) Record {
	var r Record
	for _, job := range jobs {
		r = Merge(r, Of("lab", job, options))
	}
	return r
}

var ran = []v1alpha1.Transition{
	entry(0, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued),
	entry(10, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning),
}

// then adds entries to what is there.
func then(ts []v1alpha1.Transition, more ...v1alpha1.Transition) []v1alpha1.Transition {
	return append(ts[:len(ts):len(ts)], more...)
}

var takenAway = then(ran, entry(20, v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted))

func lostWork(seconds int64) *v1alpha1.WorkStatus {
	return &v1alpha1.WorkStatus{LostSteps: seconds, LostSeconds: seconds, LostGPUSeconds: 4 * seconds}
}

// TestNothingFalse names the ways in which a record could say what was not so.
func TestNothingFalse(t *testing.T) {
	requeued := then(takenAway, entry(30, v1alpha1.PhaseQueued, v1alpha1.ReasonPreempted))
	twice := then(requeued, entry(35, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning),
		entry(40, v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted),
		entry(50, v1alpha1.PhaseQueued, v1alpha1.ReasonPreempted))
	for name, c := range map[string]struct {
		reason string
		jobs   []*v1alpha1.TrainingJob
		claims func(Record) any
		want   any
	}{
		"cost of one preemption out of two": {
			reason: "both were counted between the two versions that were seen",
			jobs: []*v1alpha1.TrainingJob{
				version(5, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: ran}),
				version(9, v1alpha1.TrainingJobStatus{Attempt: 3, Preemptions: 2, Work: lostWork(70),
					Transitions: twice}),
			},
			claims: func(r Record) any { return []*Loss{r.Preemptions[0].Lost, r.Preemptions[1].Lost} },
			want:   []*Loss{nil, nil},
		},
		"cost of a preemption that is not settled": {
			reason: "what was lost is counted when the attempt is over",
			jobs: []*v1alpha1.TrainingJob{
				version(5, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: takenAway}),
			},
			claims: func(r Record) any { return len(r.Preemptions) },
			want:   0,
		},
		"preemption for an exit code": {
			reason: "its peers' exit codes were seen first, and the loss of the node was the cause",
			jobs: []*v1alpha1.TrainingJob{
				version(5, v1alpha1.TrainingJobStatus{Attempt: 1,
					Transitions: then(ran, entry(20, v1alpha1.PhaseDraining, v1alpha1.ReasonRankFailed))}),
				version(6, v1alpha1.TrainingJobStatus{Attempt: 2, Preemptions: 1,
					Transitions: then(ran, entry(20, v1alpha1.PhaseDraining, v1alpha1.ReasonRankFailed),
						entry(30, v1alpha1.PhaseRestarting, v1alpha1.ReasonNodeLost))}),
			},
			claims: func(r Record) any {
				return []string{r.Attempts[0].EndReason, r.Preemptions[0].Reason, string(r.Attempts[0].EndPhase)}
			},
			want: []string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeLost, "Restarting"},
		},
		"failure called a preemption": {
			reason: "a scheduler may have the same word for another thing; what was counted decides",
			jobs: []*v1alpha1.TrainingJob{
				version(6, v1alpha1.TrainingJobStatus{Attempt: 3, Preemptions: 1,
					Transitions: then(requeued, entry(40, v1alpha1.PhaseDraining, "Odd"),
						entry(50, v1alpha1.PhaseRestarting, "Odd"))}),
				version(5, v1alpha1.TrainingJobStatus{Attempt: 2, Preemptions: 1, Transitions: requeued}),
			},
			claims: func(r Record) any {
				return []int32{int32(len(r.Preemptions)),
					r.Preemptions[0].Attempt}
			},
			want: []int32{1, 1},
		},
		"who preempted, from the condition of an earlier preemption": {
			reason: "the condition is still that of attempt 1 when attempt 2 fails before it runs",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 3, Preemptions: 1,
				Transitions: then(requeued, entry(40, v1alpha1.PhaseDraining, v1alpha1.ReasonRankFailed),
					entry(50, v1alpha1.PhaseRestarting, v1alpha1.ReasonRankFailed)),
				Conditions: []metav1.Condition{{Type: v1alpha1.ConditionPreempted, Status: metav1.ConditionTrue,
					Reason:  v1alpha1.ReasonPreempted,
					Message: "bert-0: preempting to accommodate a higher priority pod; all are ended"}}})},
			claims: func(r Record) any {
				var all []string
				for _, p := range r.Preemptions {
					all = append(all, fmt.Sprint(p.Attempt, " by ", p.By))
				}
				return all
			},
			want: []string{"1 by a higher priority pod"},
		},
		"samples of a former attempt": {
			reason: "until the new attempt reports, the status has the progress of the last one",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 2, Transitions: requeued,
				Progress: &v1alpha1.ProgressStatus{Attempt: 1, Step: 40, ReportedTime: metav1.NewTime(at(19))}})},
			claims: func(r Record) any { return []int32{r.Samples[0].Attempt, int32(len(r.Samples))} },
			want:   []int32{1, 1},
		},
		"checkpoint of a former attempt": {
			reason: "the resume point is what an earlier attempt saved",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 2, Transitions: requeued,
				Checkpoint: &v1alpha1.CheckpointStatus{
					ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-1/s", Step: 40},
					Latest:     &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-1/s", Step: 40}}})},
			claims: func(r Record) any {
				return []int32{r.Checkpoints[0].Attempt,
					int32(len(r.Checkpoints))}
			},
			want: []int32{0, 1},
		},
		"ranks and GPUs of an attempt that was not seen": {
			reason: "the job was resized without being observed",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 2, Transitions: requeued,
				GPUs: 16, Replicas: 4})},
			claims: func(r Record) any {
				return []any{r.Attempts[0].Seen, r.Attempts[0].GPUs,
					r.Attempts[1].GPUs}
			},
			want: []any{false, int64(0), int64(16)},
		},
		"GPUs of the former attempt": {
			reason: "while a job restarts, its status has the numbers of the attempt that ended",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 2, GPUs: 16,
				Transitions: then(takenAway, entry(30, v1alpha1.PhaseRestarting, v1alpha1.ReasonPreempted))})},
			claims: func(r Record) any { return len(r.Attempts) },
			want:   1,
		},
		"attempt of a job that was refused": {
			reason: "it was never queued",
			jobs: []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{
				Transitions: []v1alpha1.Transition{entry(0, v1alpha1.PhaseFailed, v1alpha1.ReasonInvalidSpec)}})},
			claims: func(r Record) any { return len(r.Attempts) },
			want:   0,
		},
		"run of a deleted job goes on": {
			reason: "it was found deleted at an unknown time",
			jobs:   []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: ran})},
			claims: func(r Record) any {
				r = Merge(r, Gone(r.Job.Key, nil, new(at(99))))
				spans := r.Spans()
				return []any{spans[1].Running, spans[1].Open, spans[1].To == nil}
			},
			want: []any{true, false, true},
		},
		"deletion is unknown although it is known": {
			reason: "one replica saw it, and another found the job gone",
			jobs:   []*v1alpha1.TrainingJob{version(9, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: ran})},
			claims: func(r Record) any {
				r = joined(Gone(r.Job.Key, nil, new(at(99))), r, Gone(r.Job.Key, new(at(60)), nil))
				return []any{*r.Job.Deleted, r.Job.DeletedBefore == nil, r.Spans()[1].To.Equal(at(60))}
			},
			want: []any{at(60), true, true},
		},
		"an older version after a newer one": {
			reason: "as numbers 9 is less than 10, as texts it is not",
			jobs: []*v1alpha1.TrainingJob{
				version(10, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: takenAway}),
				version(9, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: ran}),
			},
			claims: func(r Record) any { return r.Job.Phase },
			want:   v1alpha1.PhaseDraining,
		},
		"kind of GPU of a job that has left its nodes": {
			reason: "what a finished job ran on is known from when it ran",
			jobs: []*v1alpha1.TrainingJob{
				version(9, v1alpha1.TrainingJobStatus{Attempt: 1, GPUs: 8, Transitions: ran}),
				version(10, v1alpha1.TrainingJobStatus{Attempt: 1, GPUs: 8, Transitions: takenAway}),
			},
			claims: func(r Record) any { return []string{r.Job.GPUKind, r.Attempts[0].GPUKind} },
			want:   []string{"NVIDIA-A100", "NVIDIA-A100"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.claims(of(c.jobs...))); diff != "" {
				t.Errorf("%s (-so it was +so it is recorded):\n%s", c.reason, diff)
			}
		})
	}
}

// TestGap: the attempts of entries before a gap are unknown, and known where an earlier version had them.
func TestGap(t *testing.T) {
	ts := then(takenAway)
	attempt := int32(1)
	var first *v1alpha1.TrainingJob
	for i := range 10 { // it is queued and drained again and again, and never runs
		attempt++
		ts = historytest.Kept(then(ts, entry(30+10*i, v1alpha1.PhaseQueued, v1alpha1.ReasonPreempted),
			entry(35+10*i, v1alpha1.PhaseDraining, v1alpha1.ReasonPreempted)))
		if i == 0 {
			first = version(10, v1alpha1.TrainingJobStatus{Attempt: attempt, Transitions: ts})
		}
	}
	last := version(99, v1alpha1.TrainingJobStatus{Attempt: attempt, Transitions: ts})
	run := func(r Record) (attempts []int32) {
		for _, tr := range r.Transitions {
			if tr.Phase == v1alpha1.PhaseRunning {
				attempts = append(attempts, tr.Attempt)
			}
		}
		return attempts
	}
	if diff := cmp.Diff([]int32{0}, run(of(last))); diff != "" {
		t.Errorf("attempts that ran, by the last version alone (-want +got):\n%s", diff)
	}
	for _, jobs := range [][]*v1alpha1.TrainingJob{{first, last}, {last, first}} {
		if diff := cmp.Diff([]int32{1}, run(of(jobs...))); diff != "" {
			t.Errorf("attempts that ran, by both versions (-want +got):\n%s", diff)
		}
	}
}

// TestSpans: waiting and running are what the operator's own accounting takes for them.
func TestSpans(t *testing.T) {
	r := of(version(9, v1alpha1.TrainingJobStatus{Attempt: 2, GPUs: 8, Scheduling: &v1alpha1.SchedulingStatus{
		Queue: "research"}, Transitions: []v1alpha1.Transition{
		entry(0, v1alpha1.PhaseQueued, v1alpha1.ReasonQueued),
		entry(5, v1alpha1.PhaseSuspended, v1alpha1.ReasonSuspended),
		entry(60, v1alpha1.PhaseQueued, v1alpha1.ReasonResumed),
		entry(70, v1alpha1.PhaseStarting, v1alpha1.ReasonPlaced),
		entry(80, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning),
		entry(100, v1alpha1.PhaseDraining, v1alpha1.ReasonEvicted),
		entry(110, v1alpha1.PhaseQueued, v1alpha1.ReasonEvicted),
		entry(120, v1alpha1.PhaseRunning, v1alpha1.ReasonGangRunning),
	}}))
	made := Span{GPUs: 8, GPUKind: "NVIDIA-A100", Queue: "research"}
	span := func(attempt int32, from int, to *time.Time, running, open bool) Span {
		s := made
		s.Attempt, s.From, s.To, s.Running, s.Open, s.Assumed = attempt, at(from), to, running, open, attempt == 1
		return s
	}
	want := []Span{
		span(1, 0, new(at(5)), false, false),
		span(1, 60, new(at(80)), false, false),
		span(1, 80, new(at(100)), true, false),
		span(2, 110, new(at(120)), false, false),
		span(2, 120, nil, true, true),
	}
	if diff := cmp.Diff(want, r.Spans()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOfChangesNothing: the record has no part of the job, which a cache may own.
func TestOfChangesNothing(t *testing.T) {
	job := version(9, v1alpha1.TrainingJobStatus{Attempt: 1, Transitions: ran, Work: lostWork(3),
		Progress: &v1alpha1.ProgressStatus{Attempt: 1, Step: 4, Metrics: map[string]string{"loss": "1"}}})
	job.Annotations = map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "vision",
	}
	before := job.DeepCopy()
	r := Of("lab", job, Options{UserKeys: []string{"missing", "team"}})
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the job is changed:\n%s", diff)
	}
	job.Status.Progress.Metrics["loss"], job.Status.Work.LostSeconds = "2", 4
	if r.Samples[0].Metrics["loss"] != "1" || r.Job.Work.LostSeconds != 3 {
		t.Error("the record changes with the job")
	}
	if want := `{"annotations":{"team":"vision"},"spec":`; string(r.Job.Manifest[:len(want)]) != want {
		t.Errorf("manifest %s", r.Job.Manifest)
	}
	if r.Job.User != "vision" {
		t.Errorf("user %q", r.Job.User)
	}
}

// TestMergeOfTwoJobsPanics: the result would be a third job.
func TestMergeOfTwoJobsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two jobs became one")
		}
	}()
	Merge(Gone(Key{Cluster: "a", UID: "1"}, nil, &epoch), Gone(Key{Cluster: "b", UID: "1"}, nil, &epoch))
}
