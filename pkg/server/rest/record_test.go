package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// recordedBert is what the history has of the job bert: an attempt that the status tells nothing of any more.
func recordedBert() history.Record {
	return history.Record{
		Job: history.Job{
			Key: history.Key{Cluster: "main", UID: "uid-bert"}, Namespace: "team-a", Name: "bert",
			ResourceVersion: "7", Created: now.Add(-time.Hour), Attempt: 1,
		},
		Attempts: []history.Attempt{{Number: 1, ResourceVersion: "7", GPUs: 16, Seen: true}},
		Counts:   []history.Counts{{Attempt: 1}},
		Transitions: []history.Transition{
			{Time: now.Add(-30 * time.Minute), Phase: v1alpha1.PhaseRunning, Attempt: 1},
		},
	}
}

// reported has progress, and has lost work before its second attempt.
func reported(job *v1alpha1.TrainingJob) {
	waiting(job)
	job.Status.Progress = &v1alpha1.ProgressStatus{
		Attempt: 1, Step: 40, ReportedTime: metav1.NewTime(now), Metrics: map[string]string{"loss": "1.5"},
	}
	job.Status.GPUs = 16
	job.Status.Work = &v1alpha1.WorkStatus{LostSteps: 5, LostSeconds: 60, LostGPUSeconds: 960}
	job.Annotations = map[string]string{"owner": "ada"}
}

// TestJobRecord: the history and the live version are one record, with what the recorder says of the job.
func TestJobRecord(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", reported))
	s.rest.RecordOf = func(cluster string, job *v1alpha1.TrainingJob) history.Record {
		return history.Of(cluster, job, history.Options{
			UserKeys: []string{"owner"}, GPUKind: func(*v1alpha1.TrainingJob) string { return "H100" },
		})
	}
	s.past.records = map[types.UID]history.Record{"uid-bert": recordedBert()}
	bob, at := as(t.Context(), "bob"), jobPath("team-a", "bert")
	r, err := s.rest.JobRecord(bob, &at)
	if err != nil {
		t.Fatal(err)
	}
	numbers := []int32{}
	for _, a := range r.Record.Attempts {
		numbers = append(numbers, a.Number)
	}
	if diff := cmp.Diff([]int32{1, 2}, numbers); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if j := r.Record.Job; j.User != "ada" || j.GPUKind != "H100" || len(r.Record.Counts) != 2 ||
		len(r.Record.Samples) != 1 || !r.Recorded || r.Unread != nil {
		t.Errorf("got %+v", r)
	}
	if lost := r.Record.Attempts[0].Lost; lost == nil || lost.GPUSeconds != 960 {
		t.Errorf("the end of the first attempt cost %+v", lost)
	}
	if r.Live.Name != "bert" || r.Explanation == nil || len(r.Explanation.Arithmetic) != 1 ||
		r.Timeline.Source != timeline.FromHistory || r.Currency != "EUR" || r.Prices["H100"] == nil {
		t.Errorf("got %+v", r)
	}
	if _, err := s.rest.JobRecord(as(t.Context(), "eve"), &at); problem.Of(err).Status != http.StatusForbidden {
		t.Errorf("to those who may not get it: %v", err)
	}
	none := jobPath("team-a", "none")
	if _, err := s.rest.JobRecord(bob, &none); problem.Of(err).Status != http.StatusNotFound {
		t.Errorf("of no job: %v", err)
	}
}

// TestJobRecordWithoutHistory: the live part is returned with the error of the history.
func TestJobRecordWithoutHistory(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", reported))
	ann, at := as(t.Context(), "ann"), jobPath("team-a", "bert")
	r, err := s.rest.JobRecord(ann, &at)
	if err != nil || r.Recorded || r.Unread != nil || r.Timeline.Source != timeline.FromStatus {
		t.Errorf("of a job that is not recorded: %+v, %v", r, err)
	}
	s.past.err = errors.New("disk is away")
	r, err = s.rest.JobRecord(ann, &at)
	if err != nil || r.Recorded || r.Unread == nil || r.Record.Job.Name != "bert" || len(*s.logged) != 1 {
		t.Errorf("without a history: %+v, %v, logged %v", r, err, *s.logged)
	}
	if strings.Contains(problem.Of(r.Unread).Error(), "disk") {
		t.Error("it tells the reader what is the log's matter")
	}
	gone, end := context.WithCancel(ann)
	end()
	if _, err := s.rest.JobRecord(gone, &at); !errors.Is(err, context.Canceled) {
		t.Errorf("of a reader who is gone: %v", err)
	}
}

// TestPastJobRecord is whole, to those who may get the job.
func TestPastJobRecord(t *testing.T) {
	s := newServer(t)
	s.past.records = map[types.UID]history.Record{"uid-bert": recordedBert()}
	at := &HistoryPath{ClusterPath{"main"}, "uid-bert"}
	r, err := s.rest.PastJobRecord(as(t.Context(), "bob"), at)
	if err != nil || r.Live != nil || r.Explanation != nil || len(r.Record.Counts) != 1 ||
		len(r.Timeline.Items) == 0 || r.Currency != "EUR" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := s.rest.PastJobRecord(as(t.Context(), "eve"), at); problem.Of(err).Status != 404 {
		t.Errorf("to those who may not get it: %v", err)
	}
}

// sampled is a history of many samples, which it gives as the store does.
type sampled struct {
	*past
	all     []history.Sample
	queries []store.SamplesQuery
}

func (p *sampled) Samples(_ context.Context, _ history.Key, q store.SamplesQuery) ([]history.Sample, error) {
	p.queries = append(p.queries, q)
	var of []history.Sample
	for _, s := range p.all {
		if (q.Attempt == 0 || s.Attempt == q.Attempt) && len(of) < q.Limit {
			of = append(of, s)
		}
	}
	return of, p.err
}

// TestJobSamples: all of few, and of many those of the last attempts, with the first of these.
func TestJobSamples(t *testing.T) {
	for name, tt := range map[string]struct {
		attempts, each int32
		first, since   int32
	}{
		"none":          {attempts: 1},
		"few":           {attempts: 3, each: 500, first: 1},
		"many":          {attempts: 24, each: 500, first: 1},
		"too many":      {attempts: 30, each: 500, first: 7, since: 7},
		"many attempts": {attempts: 400, each: 4, first: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			record := recordedBert()
			record.Job.Attempt = tt.attempts
			s.past.records = map[types.UID]history.Record{"uid-bert": record}
			p := &sampled{past: s.past}
			for attempt := int32(1); attempt <= tt.attempts; attempt++ {
				for step := range tt.each {
					p.all = append(p.all, history.Sample{Attempt: attempt, Step: int64(step)})
				}
			}
			s.rest.History = p
			at := &HistoryPath{ClusterPath{"main"}, "uid-bert"}
			got, err := s.rest.JobSamples(as(t.Context(), "bob"), at)
			if err != nil {
				t.Fatal(err)
			}
			first := slices.IndexFunc(p.all, func(s history.Sample) bool { return s.Attempt == tt.first })
			want := p.all[max(0, first):]
			if diff := cmp.Diff(len(want), len(got.Items)); diff != "" || got.Since != tt.since {
				t.Errorf("since %d (-want +got):\n%s", got.Since, diff)
			}
			if len(want) > 0 && got.Items[0].Attempt != tt.first {
				t.Errorf("it begins with attempt %d", got.Items[0].Attempt)
			}
			if len(p.queries) > 1+sampleAttempts {
				t.Errorf("%d queries", len(p.queries))
			}
			if _, err := s.rest.JobSamples(as(t.Context(), "eve"), at); problem.Of(err).Status != 404 {
				t.Errorf("to those who may not get it: %v", err)
			}
		})
	}
}

// TestJobLogs: the job is read once, and every rank's log with the rights of the caller.
func TestJobLogs(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert"))
	p := &pods{log: "step 1\n", all: map[string]*corev1.Pod{
		"bert-worker-0": rank("bert-worker-0", "uid-bert", "trainer"),
	}}
	s.withPods(t, p)
	ann, at := as(t.Context(), "ann"), jobPath("team-a", "bert")
	logs, err := s.rest.JobLogs(ann, &at)
	if err != nil {
		t.Fatal(err)
	}
	s.access.grant("ann") // the job cannot be read again
	in := &LogsInput{TailLines: 7, SinceSeconds: 60, Timestamps: true}
	var asked types.UID
	log, err := logs.Open(ann, in, func(pod types.UID) time.Time { asked = pod; return now })
	if err != nil {
		t.Fatal(err)
	}
	if log.Pod == "" || asked != log.Pod {
		t.Errorf("it is the log of pod %q, and asked was %q", log.Pod, asked)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if p.asked.Get("sinceTime") != "2026-11-25T12:30:00Z" || p.asked.Has("sinceSeconds") ||
		p.asked.Get("tailLines") != "7" {
		t.Errorf("asked for %v", p.asked)
	}
	for _, in := range []*LogsInput{{Index: 1}, {Index: 9}, {TailLines: -5}} {
		if _, err := logs.Open(ann, in, nil); err == nil {
			t.Errorf("%+v is opened", in)
		}
	}
	if _, err := s.rest.JobLogs(as(t.Context(), "eve"), &at); problem.Of(err).Status != http.StatusForbidden {
		t.Errorf("to those who may not get it: %v", err)
	}
}
