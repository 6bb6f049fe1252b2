package rest

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

func jobPath(namespace, name string) JobPath {
	return JobPath{NamespacePath{ClusterPath{"main"}, namespace}, name}
}

// TestInProcess: a caller in the process sees what the same caller sees over HTTP.
func TestInProcess(t *testing.T) {
	s := newServer(t, newJob("team-a", "bert", inPhase(v1alpha1.PhaseRunning)), newJob("team-b", "gpt"))
	bob, ann := as(t.Context(), "bob"), as(t.Context(), "ann")
	names := func(jobs []*v1alpha1.TrainingJob) (all []string) {
		for _, job := range jobs {
			all = append(all, job.Name)
		}
		return all
	}
	jobs, err := s.rest.VisibleJobs(bob, "main", "")
	if diff := cmp.Diff([]string{"bert"}, names(jobs)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	jobs, err = s.rest.VisibleJobs(ann, "main", "team-b")
	if diff := cmp.Diff([]string{"gpt"}, names(jobs)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := s.rest.VisibleJobs(bob, "main", "team-b"); problem.Of(err).Status != http.StatusForbidden {
		t.Errorf("got %v", err)
	}
	got, err := s.rest.GetJob(bob, &GetInput{JobPath: jobPath("team-a", "bert")})
	if err != nil || got.Body.TrainingJob().Name != "bert" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = s.rest.GetJob(t.Context(), &GetInput{JobPath: jobPath("team-a", "bert")})
	if problem.Of(err).Status != http.StatusUnauthorized {
		t.Errorf("without a caller: %v", err)
	}
	out, err := s.rest.ActOnJob(ann, Suspend, &ActionInput{JobPath: jobPath("team-a", "bert")})
	if err != nil || !*out.Body.TrainingJob().Spec.RunPolicy.Suspend {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := s.rest.ActOnJob(ann, "dance", &ActionInput{JobPath: jobPath("team-a", "bert")}); err == nil {
		t.Error("an action that does not exist is done")
	}
	delete := authorizationv1.ResourceAttributes{Verb: "delete", Namespace: "team-b"}
	if may, err := s.rest.May(bob, "main", delete); may || err != nil {
		t.Error(may, err)
	}
	clusters, err := s.rest.Clusters(bob)
	want := []ClusterStatus{{Name: "main", Default: true, Synced: true}, {Name: "other"}}
	if diff := cmp.Diff(want, clusters); diff != "" || err != nil {
		t.Error(err, diff)
	}
	s.past.usages = []store.Usage{{Queue: "research", GPUKind: "H100", GPUSeconds: 3600}}
	report, err := s.rest.Accounting(ann, &AccountingInput{
		ClusterPath: ClusterPath{"main"}, By: []store.Dimension{store.ByQueue},
	})
	if err != nil || len(report.Items) != 1 || report.From != "2026-11-01" {
		t.Errorf("got %+v, %v", report, err)
	}
}

// TestInProcessPeriod: days are held to the API's format of them, and CSV says of which days it is.
func TestInProcessPeriod(t *testing.T) {
	s := newServer(t)
	ann, october := as(t.Context(), "ann"), time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	in := func() *AccountingInput {
		return &AccountingInput{ClusterPath: ClusterPath{"main"}, From: october, To: october.AddDate(0, 1, 0)}
	}
	report, err := s.rest.Accounting(ann, in())
	if err != nil || report.From != "2026-10-01" || report.To != "2026-11-01" {
		t.Errorf("got %+v, %v", report, err)
	}
	of := &AccountingInput{ClusterPath: ClusterPath{"main"}}
	if _, err := s.rest.AccountingCSV(ann, of); err != nil || of.From.IsZero() || of.To.IsZero() {
		t.Errorf("it is of %v to %v, %v", of.From, of.To, err)
	}
	if _, err := s.rest.AccountingCSV(ann, in()); err != nil {
		t.Error(err)
	}
}

// TestInProcessIsBounded: defaults and bounds are those of HTTP, and so are the words about them.
func TestInProcessIsBounded(t *testing.T) {
	s := newServer(t)
	ann := as(t.Context(), "ann")
	in := &HistoryInput{ClusterPath: ClusterPath{"main"}}
	if _, err := s.rest.HistoryJobs(ann, in); err != nil || s.past.jobs.Limit != 100 {
		t.Errorf("limit %d, %v", s.past.jobs.Limit, err)
	}
	for name, tt := range map[string]struct {
		path string
		call func() error
	}{
		"limit": {"history/jobs?limit=501", func() error {
			_, err := s.rest.HistoryJobs(ann, &HistoryInput{ClusterPath: ClusterPath{"main"}, Page: Page{Limit: 501}})
			return err
		}},
		"enum": {"history/jobs?phase=Running,Dancing", func() error {
			_, err := s.rest.HistoryJobs(ann, &HistoryInput{
				ClusterPath: ClusterPath{"main"}, Phase: []v1alpha1.Phase{v1alpha1.PhaseRunning, "Dancing"},
			})
			return err
		}},
		"path": {"namespaces/team-a/trainingjobs/-", func() error {
			_, err := s.rest.GetJob(ann, &GetInput{JobPath: jobPath("team-a", "-")})
			return err
		}},
		"two": {"namespaces/A/trainingjobs/-", func() error {
			_, err := s.rest.GetJob(ann, &GetInput{JobPath: jobPath("A", "-")})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := s.do(request{path: tt.path}).problem(t)
			got := tt.call()
			if got == nil {
				t.Fatal("it is accepted")
			}
			var seen problem.Problem
			text, _ := json.Marshal(problem.Of(got))
			if err := json.Unmarshal(text, &seen); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, seen, cmp.AllowUnexported(problem.Problem{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	past := &HistoryInput{ClusterPath: ClusterPath{"main"}, From: now.Add(-time.Hour)}
	if _, err := s.rest.HistoryJobs(ann, past); err != nil || !s.past.jobs.From.Equal(past.From) {
		t.Errorf("from %v: %v", s.past.jobs.From, err)
	}
}
