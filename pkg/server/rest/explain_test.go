package rest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

func waiting(job *v1alpha1.TrainingJob) {
	job.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	job.Status = v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseQueued, Attempt: 2,
		Transitions: []v1alpha1.Transition{
			{Time: metav1.NewTime(now.Add(-time.Minute)), Phase: v1alpha1.PhaseQueued, Reason: "Resubmitted"},
		},
		LastFailure: &v1alpha1.FailureStatus{
			PodName: "bert-worker-0", Attempt: 1, Time: new(metav1.NewTime(now.Add(-10 * time.Minute))),
		},
		Scheduling: &v1alpha1.SchedulingStatus{Blocker: &v1alpha1.Blocker{
			Reason: "QuotaExceeded", Message: "4 GPUs are left",
			Need: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
			Free: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")},
		}},
	}
}

// TestExplain: the reason comes with its arithmetic, at the server's time.
func TestExplain(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", waiting))
	var got explain.Explanation
	s.do(request{path: teamA + "/bert/explain"}).decode(t, http.StatusOK, &got)
	want := explain.Line{Resource: "nvidia.com/gpu", Need: "8", Free: "4", Short: "4"}
	if len(got.Arithmetic) != 1 || got.Arithmetic[0] != want || got.ForSeconds != 60 || got.NextStep == "" {
		t.Errorf("%+v", got)
	}
	if no := s.do(request{path: teamA + "/bert/explain", user: "eve"}); no.StatusCode != http.StatusForbidden {
		t.Errorf("to those who may not get it: %d", no.StatusCode)
	}
}

// TestExplainRehearsed: a job has its newest rehearsal, if the caller may list the jobs of the namespace. The
// job of the rehearsal has its checks.
func TestExplainRehearsed(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", func(job *v1alpha1.TrainingJob) {
		job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
		job.Status.Phase = v1alpha1.PhaseRunning
	}), newJob("team-a", "bert-rehearsal", func(job *v1alpha1.TrainingJob) {
		job.Labels = map[string]string{v1alpha1.LabelRehearsalOf: "bert"}
		job.Spec.Rehearsal = &v1alpha1.RehearsalPolicy{}
		job.Status = v1alpha1.TrainingJobStatus{
			Phase: v1alpha1.PhaseSucceeded, Rehearsal: &v1alpha1.RehearsalStatus{
				Result: v1alpha1.RehearsalResultPassed, Checks: []v1alpha1.RehearsalCheck{
					{Name: v1alpha1.CheckSaves, Outcome: v1alpha1.RehearsalPassed},
				},
				Attempts: []v1alpha1.RehearsalAttempt{
					{Attempt: 1, Way: v1alpha1.RehearsalKill, EndTime: new(metav1.NewTime(now))},
				},
			},
		}
	}))
	var got explain.Explanation
	s.do(request{path: teamA + "/bert/explain"}).decode(t, http.StatusOK, &got)
	if r := got.Rehearsed; r == nil || r.Name != "bert-rehearsal" || r.Result != v1alpha1.RehearsalResultPassed {
		t.Errorf("%+v", r)
	}
	got = explain.Explanation{}
	s.do(request{path: teamA + "/bert-rehearsal/explain"}).decode(t, http.StatusOK, &got)
	if r := got.Rehearsal; r == nil || r.Of != "bert" || len(r.Checks) != 1 || got.Rehearsed != nil {
		t.Errorf("%+v", got)
	}
	var events timeline.Timeline
	s.do(request{path: teamA + "/bert-rehearsal/timeline"}).decode(t, http.StatusOK, &events)
	if reported := kinds(events.Items); !strings.Contains(reported, "WayPlayed") {
		t.Errorf("its timeline has %s", reported)
	}
	s.access.getsOnly = true
	got = explain.Explanation{}
	s.do(request{path: teamA + "/bert/explain"}).decode(t, http.StatusOK, &got)
	if got.Rehearsed != nil || !slices.Contains(got.Unknown, explain.UnknownRehearsals) {
		t.Errorf("without the right to list: %+v", got)
	}
}

func kinds(entries []timeline.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimSpace(string(e.Kind)+" "+string(e.Phase)))
	}
	return strings.Join(all, ", ")
}

// TestTimeline: what has been recorded, and what the status knows; the status alone where the history is
// away.
func TestTimeline(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", waiting))
	get := func(path string) timeline.Timeline {
		t.Helper()
		var got timeline.Timeline
		s.do(request{path: path}).decode(t, http.StatusOK, &got)
		return got
	}
	alone := get(teamA + "/bert/timeline")
	if alone.Source != timeline.FromStatus || !strings.Contains(kinds(alone.Items), "RankFailed") {
		t.Errorf("of a job that is not recorded: %s from %s", kinds(alone.Items), alone.Source)
	}
	earlier := now.Add(-30 * time.Minute)
	s.past.records = map[types.UID]history.Record{"uid-bert": {
		Job: history.Job{
			Key: history.Key{Cluster: "main", UID: "uid-bert"}, Namespace: "team-a", Name: "bert",
			ResourceVersion: "7", Created: now.Add(-time.Hour),
		},
		Transitions: []history.Transition{{Time: earlier, Phase: v1alpha1.PhaseRunning, Attempt: 1}},
	}}
	got := get(teamA + "/bert/timeline")
	reported := kinds(got.Items)
	running, failed := strings.Index(reported, "Phase Running"), strings.Index(reported, "RankFailed")
	queued := strings.Index(reported, "Phase Queued")
	if got.Source != timeline.FromHistory || running < 0 || failed < running || queued < failed {
		t.Errorf("of a job that is recorded: %s from %s", reported, got.Source)
	}
	if past := kinds(get("history/jobs/uid-bert/timeline").Items); !strings.Contains(past, "Phase Running") ||
		strings.Contains(past, "Queued") {
		t.Errorf("of the record: %s", past)
	}
	s.past.err = errors.New("disk is away")
	if got := get(teamA + "/bert/timeline"); got.Source != timeline.FromStatus || len(*s.logged) != 1 {
		t.Errorf("without a history: %s from %s, logged %v", kinds(got.Items), got.Source, *s.logged)
	}
}
