package tfjob_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// remembered is what the history has of the documented job.
func remembered(t *testing.T, f *fixture, change func(*history.Record)) history.Record {
	t.Helper()
	job := &v1alpha1.TrainingJob{}
	job.Name, job.Namespace = "mnist", "clever"
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal(map[string]any{"annotations": job.Annotations, "spec": job.Spec})
	if err != nil {
		t.Fatal(err)
	}
	at := func(hour int) *time.Time { return new(time.Date(2026, 11, 25, hour, 0, 0, 0, time.UTC)) }
	r := history.Record{Job: history.Job{
		Key: history.Key{Cluster: "default", UID: job.UID}, Namespace: job.Namespace, NamespaceUID: "now",
		Name:  job.Name,
		Phase: v1alpha1.PhaseSucceeded, Created: job.CreationTimestamp.UTC(), Completed: at(12), Deleted: at(13),
		Manifest: manifest,
	}, Transitions: []history.Transition{{Time: *at(11), Phase: v1alpha1.PhaseRunning}}}
	if change != nil {
		change(&r)
	}
	return r
}

// TestDeletedJobs compares the documents of deleted jobs with testdata/deleted.txt.
func TestDeletedJobs(t *testing.T) {
	body, config := documented(t)
	cases := []struct {
		reason, id string
		change     func(*history.Record)
	}{
		{"by its id", firstID, nil},
		{"by its name", "mnist", nil},
		{"it never finished, and was found gone", firstID, func(r *history.Record) {
			r.Job.Phase, r.Job.Completed = v1alpha1.PhaseRunning, nil
			r.Job.Deleted, r.Job.DeletedBefore = nil, r.Job.Deleted
		}},
		{"the recorder has not seen its deletion yet", firstID, func(r *history.Record) {
			r.Job.Phase, r.Job.Completed, r.Job.Deleted = v1alpha1.PhaseQueued, nil, nil
		}},
		{"of a former partition", firstID, func(r *history.Record) { r.Job.NamespaceUID = "former" }},
		{"of another partition", firstID, func(r *history.Record) { r.Job.Namespace = "dull" }},
		{"of another cluster", firstID, func(r *history.Record) { r.Job.Cluster = "other" }},
		{"of another name", firstID, func(r *history.Record) { r.Job.Name = "other" }},
		{"nothing else is known", firstID, func(r *history.Record) { r.Job.Manifest = nil }},
		{"unreadable", firstID, func(r *history.Record) { r.Job.Manifest = []byte("x") }},
	}
	var b strings.Builder
	for _, c := range cases {
		f := newFixture(t, config)
		if answer := send(f, "POST", jobs, body); answer.Code != http.StatusOK {
			t.Fatal(answer.Body)
		}
		f.past.records = []history.Record{remembered(t, f, c.change)}
		if answer := send(f, "DELETE", jobs+"/mnist", ""); answer.Code != http.StatusOK {
			t.Fatal(answer.Body)
		}
		tell(t, &b, f, c.reason, "GET", jobs+"/"+c.id, "")
	}
	golden(t, "testdata/deleted.txt", b.String())
}

// TestNameUsedAgain: the id of a job that is gone is not the job that has its name now.
func TestNameUsedAgain(t *testing.T) {
	body, config := documented(t)
	f := newFixture(t, config)
	send(f, "POST", jobs, body)
	f.past.records = []history.Record{remembered(t, f, nil)}
	send(f, "DELETE", jobs+"/mnist", "")
	send(f, "POST", jobs, body)
	if answer := send(f, "GET", jobs+"/"+firstID, ""); !strings.Contains(answer.Body.String(), "deletionTime") {
		t.Errorf("the first job: %d %s", answer.Code, answer.Body)
	}
	if answer := send(f, "GET", jobs+"/mnist", ""); strings.Contains(answer.Body.String(), "deletionTime") {
		t.Errorf("the job that has the name: %d %s", answer.Code, answer.Body)
	}
	if answer := send(f, "PATCH", jobs+"/"+firstID, `{"count": 3}`); answer.Code != http.StatusNotFound {
		t.Errorf("changing a job that is gone: %d %s", answer.Code, answer.Body)
	}
}
