package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

func at(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC))
}

// text returns a list, one entry per line.
func text(entries []Entry) string {
	var lines []string
	for _, e := range entries {
		when := "--:--"
		if e.Time != nil {
			when = e.Time.Format("15:04")
		}
		words := []string{when, string(e.Kind)}
		for _, word := range []string{string(e.Phase), e.Reason, e.URI, e.By, e.Message} {
			if word != "" {
				words = append(words, word)
			}
		}
		if e.Attempt != 0 {
			words = append(words, fmt.Sprintf("attempt=%d", e.Attempt))
		}
		for name, n := range map[string]*int64{"step": e.Step, "seconds": e.Seconds, "lostSteps": e.LostSteps} {
			if n != nil {
				words = append(words, fmt.Sprintf("%s=%d", name, *n))
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

func TestOf(t *testing.T) {
	code, saved, failed := int32(1), at(7), at(8)
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(0)}}
	job.Status = v1alpha1.TrainingJobStatus{
		Attempt: 2,
		Transitions: []v1alpha1.Transition{
			{Time: at(0), Phase: "Queued", Reason: "Queued"}, {Time: at(5), Phase: "Running", Reason: "GangRunning"},
			{Time: at(8), Phase: "Draining", Reason: "RankFailed"}, {Time: at(9), Phase: "Queued", Reason: "Drained"},
			{Time: at(11), Phase: "Running", Reason: "GangRunning"},
		},
		Checkpoint: &v1alpha1.CheckpointStatus{
			Latest:     &v1alpha1.CheckpointPoint{URI: "pvc://a/step-9", Step: 9},
			ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://a/step-5", Step: 5, Time: &saved},
		},
		LastFailure: &v1alpha1.FailureStatus{PodName: "bert-worker-1", Attempt: 1, ExitCode: &code, Time: &failed},
	}
	const want = `12:00 Created
12:00 Phase Queued Queued seconds=300
12:05 Phase Running GangRunning seconds=180
12:08 RankFailed bert-worker-1 exited with 1 attempt=1
12:08 Phase Draining RankFailed seconds=60
12:09 Phase Queued Drained seconds=120
12:09 Resumed pvc://a/step-5 attempt=2 step=5
12:11 Phase Running GangRunning
--:-- Checkpoint pvc://a/step-9 step=9`
	if diff := cmp.Diff(want, text(Of(job))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRehearsal: each way has an entry before the phase that it causes.
func TestRehearsal(t *testing.T) {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(0)}}
	job.Status = v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, Attempt: 3,
		Transitions: []v1alpha1.Transition{
			{Time: at(1), Phase: v1alpha1.PhaseRunning},
			{Time: at(3), Phase: v1alpha1.PhaseDraining, Reason: "Rehearsal"},
			{Time: at(4), Phase: v1alpha1.PhaseRunning},
		},
		Rehearsal: &v1alpha1.RehearsalStatus{Attempts: []v1alpha1.RehearsalAttempt{
			{Attempt: 1, Way: v1alpha1.RehearsalKill, EndStep: new(int64(60)), EndTime: new(at(3))},
			{Attempt: 2, Way: v1alpha1.RehearsalAsk, Interrupted: true, EndTime: new(at(5))},
			{Attempt: 3},
		}},
	}
	const want = `12:00 Created
12:01 Phase Running seconds=120
12:03 WayPlayed Kill attempt=1 step=60
12:03 Phase Draining Rehearsal seconds=60
12:04 Phase Running
12:05 WayPlayed Ask something else ended the attempt first: the way is played again attempt=2`
	if diff := cmp.Diff(want, text(Of(job))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFullStatus: a status that may have dropped transitions has a gap and no durations of phases.
func TestFullStatus(t *testing.T) {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(0)}}
	for i := range kept {
		job.Status.Transitions = append(job.Status.Transitions,
			v1alpha1.Transition{Time: at(20 + i), Phase: "Queued"})
	}
	entries := Of(job)
	if entries[0].Kind != Created || entries[1].Kind != Gap || len(entries) != kept+2 {
		t.Errorf("got\n%s", text(entries))
	}
	for _, e := range entries {
		if e.Seconds != nil {
			t.Errorf("the duration is unknown: %+v", e)
		}
	}
}

func TestOfRecord(t *testing.T) {
	deleted := at(40).Time
	r := history.Record{
		Job: history.Job{Created: at(0).Time, Deleted: &deleted},
		Attempts: []history.Attempt{
			{Number: 2, Queued: new(at(9).Time), ResumedFrom: &v1alpha1.CheckpointPoint{URI: "pvc://a/5", Step: 5}},
		},
		Transitions: []history.Transition{
			{Time: at(0).Time, Phase: "Queued", Attempt: 1}, {Time: at(5).Time, Phase: "Running", Attempt: 1},
			{Time: at(8).Time, Phase: "Draining", Reason: "Preempted", Attempt: 1},
			{Time: at(9).Time, Phase: "Queued", Attempt: 2},
			{Time: at(30).Time, Phase: "Running", Attempt: 7},
		},
		Preemptions: []history.Preemption{{
			Attempt: 1, Time: at(8).Time, Reason: "Preempted", By: "a higher priority pod",
			Lost: &history.Loss{Steps: 12},
		}},
		Checkpoints: []history.Checkpoint{{URI: "pvc://a/5", Step: 5, Attempt: 1}},
	}
	const want = `12:00 Created
12:00 Phase Queued attempt=1 seconds=300
12:05 Phase Running attempt=1 seconds=180
12:08 Preempted Preempted a higher priority pod attempt=1 lostSteps=12
12:08 Phase Draining Preempted attempt=1 seconds=60
--:-- Checkpoint pvc://a/5 attempt=1 step=5
12:09 Phase Queued attempt=2
12:09 Resumed pvc://a/5 attempt=2 step=5
--:-- Gap some changes of phase are missing
12:30 Phase Running attempt=7
12:40 Deleted`
	if diff := cmp.Diff(want, text(OfRecord(r))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Job.Deleted, r.Job.DeletedBefore = nil, &deleted
	all := OfRecord(r)
	if last := all[len(all)-1]; last.Kind != Deleted || !strings.Contains(last.Message, "before this time") {
		t.Errorf("got %+v", last)
	}
}

// TestReservationsOf: a reservation of a dry run is none; a lapsed one has both times.
func TestReservationsOf(t *testing.T) {
	held := v1alpha1.BackfillStatus{HeldSinceTime: new(at(1))}
	passes := v1alpha1.BackfillStatus{How: v1alpha1.BackfillIsLent}
	kept := v1alpha1.ReservationStatus{
		Phase: v1alpha1.ReservationKept, SinceTime: at(1), ChangedTime: at(2), Nodes: []string{"a", "b"},
	}
	planned, lapsed := kept, kept
	planned.Phase = v1alpha1.ReservationPlanned
	lapsed.Phase, lapsed.Reason, lapsed.Nodes = v1alpha1.ReservationLapsed, v1alpha1.ReservationTooOld, nil
	for name, c := range map[string]struct {
		status v1alpha1.SchedulingStatus
		want   string
	}{
		"planned": {v1alpha1.SchedulingStatus{Reservation: &planned}, ""},
		"kept":    {v1alpha1.SchedulingStatus{Reservation: &kept}, "12:01 Reserved 2 nodes"},
		"lapsed":  {v1alpha1.SchedulingStatus{Reservation: &lapsed}, "12:01 Reserved\n12:02 Lapsed TooOld"},
		"held":    {v1alpha1.SchedulingStatus{Backfill: &held}, "12:01 HeldBack"},
		"passes":  {v1alpha1.SchedulingStatus{Backfill: &passes}, ""},
	} {
		if got := text(reservationsOf(&c.status)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
