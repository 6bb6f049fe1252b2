package rest

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

func date(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

// TestHistoryJobs: everybody gets the jobs of the namespaces that they may list, also of those that are gone.
func TestHistoryJobs(t *testing.T) {
	s := newServer(t)
	s.past.usages = []store.Usage{{Namespace: "team-a"}, {Namespace: "team-b"}}
	s.past.page = store.JobsPage{Next: "cursor", Jobs: []history.Job{{Namespace: "team-a", Name: "old"}}}
	for name, c := range map[string]struct {
		user, query string
		want        store.JobsQuery
	}{
		"all":          {"ann", "", store.JobsQuery{}},
		"of one's own": {"bob", "", store.JobsQuery{Namespaces: []history.Namespace{{Name: "team-a"}}}},
		"none":         {"eve", "", store.JobsQuery{Namespaces: []history.Namespace{}}},
		"everything that can be asked": {
			"bob", "namespace=team-a&name=old&user=x&queue=q&phase=Failed,Running&deleted=true&limit=7&continue=c" +
				"&from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z",
			store.JobsQuery{
				Namespaces: []history.Namespace{{Name: "team-a"}}, Name: "old", User: "x", Queue: "q",
				Deleted: new(true), Limit: 7, Phases: []v1alpha1.Phase{"Failed", "Running"}, Cursor: "c",
				From: date("2026-11-01"), To: date("2026-11-02"),
			},
		},
		"what exists": {"ann", "deleted=false", store.JobsQuery{Deleted: new(false)}},
	} {
		c.want.Cluster = "main"
		if c.want.Limit == 0 {
			c.want.Limit = 100
		}
		var got struct {
			Metadata PageMetadata
			Items    []history.Job
		}
		answer := s.do(request{path: "history/jobs?" + c.query, user: c.user})
		answer.decode(t, http.StatusOK, &got)
		if diff := cmp.Diff(c.want, s.past.jobs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(s.past.page.Jobs, got.Items); diff != "" || got.Metadata.Continue != "cursor" ||
			!strings.Contains(answer.Header.Get("Link"), "continue=cursor") {
			t.Errorf("%s: %+v (-want +got):\n%s", name, got.Metadata, diff)
		}
	}
}

// TestHistoryJob: a user who may get a job may read its history; for others it is unknown.
func TestHistoryJob(t *testing.T) {
	s := newServer(t)
	key := history.Key{Cluster: "main", UID: "uid-old"}
	s.past.records = map[types.UID]history.Record{key.UID: {
		Job: history.Job{Key: key, Namespace: "team-a", Name: "old", Phase: v1alpha1.PhaseFailed,
			Created: now},
		Attempts:    []history.Attempt{{Number: 1, Seen: true}},
		Transitions: []history.Transition{{Time: now, Phase: v1alpha1.PhaseFailed}},
		Preemptions: []history.Preemption{{Attempt: 1, Time: now, Reason: "Preempted"}},
		Checkpoints: []history.Checkpoint{{URI: "pvc://x", Step: 7}},
		Counts:      []history.Counts{{Attempt: 2}},
	}}
	var got HistoryRecord
	s.do(request{path: "history/jobs/uid-old", user: "bob"}).decode(t, http.StatusOK, &got)
	want := s.past.records[key.UID]
	if diff := cmp.Diff(HistoryRecord{want.Job, want.Attempts, want.Transitions, want.Preemptions,
		want.Checkpoints},
		got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unknown := s.do(request{path: "history/jobs/uid-none", user: "eve"})
	hidden := s.do(request{path: "history/jobs/uid-old", user: "eve"})
	if diff := cmp.Diff(string(unknown.body), string(hidden.body)); diff != "" || hidden.StatusCode != 404 {
		t.Errorf("hidden jobs differ from unknown ones (-unknown +hidden):\n%s", diff)
	}
	hidden = s.do(request{path: "history/jobs/uid-old/samples", user: "eve"})
	if hidden.StatusCode != 404 {
		t.Errorf("samples: %d", hidden.StatusCode)
	}
	s.past.samples = []history.Sample{{Attempt: 1, Step: 10, Time: now}, {Attempt: 2, Step: 5, Time: now}}
	var page struct {
		Metadata PageMetadata
		Items    []history.Sample
	}
	s.do(request{path: "history/jobs/uid-old/samples?limit=2&attempt=0&continue=1-9"}).decode(t, 200, &page)
	wantQuery := store.SamplesQuery{Limit: 2, After: &store.SamplePosition{Attempt: 1, Step: 9}}
	if diff := cmp.Diff(wantQuery, s.past.sampled); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.past.samples, page.Items); diff != "" || page.Metadata.Continue != "2-5" {
		t.Errorf("%+v (-want +got):\n%s", page.Metadata, diff)
	}
}

// distinguished are namespaces with UIDs; nil: they are not listed yet.
type distinguished map[string]history.Namespace

func (d distinguished) Known(string) bool { return d != nil }
func (d distinguished) Get(_, name string) (history.Namespace, bool) {
	n, exists := d[name]
	return n, exists
}

// TestFormerNamespaces: a namespace that was created again, perhaps by others, has no history of the former
// one. A user with the right in all namespaces sees both.
func TestFormerNamespaces(t *testing.T) {
	s := newServer(t)
	current := history.Namespace{Name: "team-a", UID: "now", Created: now}
	s.rest.Namespaces = distinguished{"team-a": current}
	s.access.grant("bob", "team-a", "team-gone")
	s.past.usages = []store.Usage{{Namespace: "team-a"}, {Namespace: "team-gone"}}
	s.past.records = map[types.UID]history.Record{}
	for uid, job := range map[types.UID]history.Job{
		"current": {Namespace: "team-a", NamespaceUID: "now"},
		"former":  {Namespace: "team-a", NamespaceUID: "former"},
		"unknown": {Namespace: "team-a", Created: now},
		"older":   {Namespace: "team-a", Created: now.Add(-time.Hour)},
		"gone":    {Namespace: "team-gone", NamespaceUID: "gone"},
	} {
		job.Key, job.ResourceVersion = history.Key{Cluster: "main", UID: uid}, "1"
		s.past.records[uid] = history.Record{Job: job}
	}
	for uid := range s.past.records {
		want := http.StatusNotFound
		if uid == "current" || uid == "unknown" {
			want = http.StatusOK
		}
		for _, path := range []string{"", "/samples", "/timeline"} {
			got := s.do(request{path: "history/jobs/" + string(uid) + path, user: "bob"})
			if got.StatusCode != want {
				t.Errorf("%s%s: %d, want %d", uid, path, got.StatusCode, want)
			}
		}
		if got := s.do(request{path: "history/jobs/" + string(uid), user: "ann"}); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d for a user who may read all", uid, got.StatusCode)
		}
	}
	for name, tc := range map[string]struct {
		user, query string
		want        []history.Namespace
	}{
		"own":            {"bob", "", []history.Namespace{current}},
		"one":            {"bob", "?namespace=team-a", []history.Namespace{current}},
		"a deleted one":  {"bob", "?namespace=team-gone", []history.Namespace{}},
		"all":            {"ann", "", nil},
		"all with name":  {"ann", "?namespace=team-a", []history.Namespace{{Name: "team-a"}}},
		"all of deleted": {"ann", "?namespace=team-gone", []history.Namespace{{Name: "team-gone"}}},
	} {
		if got := s.do(request{path: "history/jobs" + tc.query, user: tc.user}); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
		if diff := cmp.Diff(tc.want, s.past.jobs.Namespaces); diff != "" {
			t.Errorf("%s: jobs of\n%s", name, diff)
		}
		if got := s.do(request{path: "accounting" + tc.query, user: tc.user}); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
		last := s.past.accounting[len(s.past.accounting)-1]
		if diff := cmp.Diff(tc.want, last.Namespaces); diff != "" {
			t.Errorf("%s: usage of\n%s", name, diff)
		}
	}
	s.rest.Namespaces = distinguished(nil)
	for path, want := range map[string]int{
		"history/jobs": http.StatusServiceUnavailable, "history/jobs/current": http.StatusServiceUnavailable,
		"accounting": http.StatusServiceUnavailable,
	} {
		if got := s.do(request{path: path, user: "bob"}); got.StatusCode != want {
			t.Errorf("before the namespaces are listed: %s: %d %s", path, got.StatusCode, got.body)
		}
		if got := s.do(request{path: path, user: "ann"}); got.StatusCode != http.StatusOK {
			t.Errorf("before the namespaces are listed: %s: %d for a user who may read all", path, got.StatusCode)
		}
	}
}

// TestAccounting: costs are exact, and unknown where a price is; other dimensions are summed.
func TestAccounting(t *testing.T) {
	s := newServer(t)
	s.past.usages = []store.Usage{
		{Queue: "q1", GPUKind: "H100", GPUSeconds: 1, RunningSeconds: 1, Jobs: 1},
		{Queue: "q1", GPUKind: "free", GPUSeconds: 3599, RunningSeconds: 10, Jobs: 2, RoomMade: 2, RoomSeconds: 30},
		{Queue: "q2", GPUKind: "A1", GPUSeconds: 7200, LostGPUSeconds: 5, Asked: 3, Saved: 2,
			PreemptedLostGPUSeconds: 4},
		{Queue: "q3", GPUKind: "", QueuedSeconds: 9},
	}
	var got Accounting
	s.do(request{path: "accounting?by=queue&from=2026-11-01&to=2026-11-03"}).decode(t, 200, &got)
	want := []Usage{
		{Queue: "q2", GPUSeconds: 7200, GPUHours: "2.0000", LostGPUSeconds: 5, Unpriced: []string{"A1"}, Asked: 3,
			Saved: 2, PreemptedLostGPUSeconds: 4},
		{Queue: "q1", GPUSeconds: 3600, GPUHours: "1.0000", RunningSeconds: 11, Jobs: 3, Cost: new("0.000694"),
			RoomMade: 2, RoomSeconds: 30},
		{Queue: "q3", QueuedSeconds: 9, GPUHours: "0.0000", Cost: new("0.000000")},
	}
	compare := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".cost" }, cmp.Ignore())
	if diff := cmp.Diff(want, got.Items, compare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	total := Usage{
		GPUSeconds: 10800, GPUHours: "3.0000", RunningSeconds: 11, Jobs: 3, LostGPUSeconds: 5, QueuedSeconds: 9,
		Unpriced: []string{"A1"}, Asked: 3, Saved: 2, PreemptedLostGPUSeconds: 4, RoomMade: 2, RoomSeconds: 30,
	}
	if diff := cmp.Diff(total, got.Total, compare); diff != "" || got.Currency != "EUR" || got.Truncated {
		t.Errorf("total of %+v (-want +got):\n%s", got, diff)
	}
	query := store.AccountingQuery{
		Cluster: "main", From: date("2026-11-01"), To: date("2026-11-03"), Now: now,
		By: []store.Dimension{store.ByQueue, store.ByGPUKind},
	}
	if diff := cmp.Diff(query, s.past.accounting[0]); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	s.past.usages = []store.Usage{{GPUKind: "H100", GPUSeconds: 1}, {GPUKind: "free", GPUSeconds: 1}}
	s.do(request{path: "accounting"}).decode(t, 200, &got)
	if got.From != "2026-11-01" || got.To != "2026-11-26" || len(got.Items) != 1 || len(got.By) != 0 {
		t.Errorf("by default: %+v", got)
	}
	s.do(request{path: "accounting?by=queue,gpuKind", user: "bob"}).decode(t, 200, &got)
	last := s.past.accounting[len(s.past.accounting)-1]
	if len(got.Items) != 2 || last.Namespaces == nil || len(last.By) != 2 {
		t.Errorf("of one's own: %+v, by %+v", got.Items, last)
	}
	s.past.usages = make([]store.Usage, store.MaxUsages)
	if s.do(request{path: "accounting"}).decode(t, 200, &got); !got.Truncated {
		t.Error("nothing says that there may be more")
	}
}

// TestCSV: the same figures for a spreadsheet, which takes no cell for a formula.
func TestCSV(t *testing.T) {
	s := newServer(t)
	s.past.usages = []store.Usage{
		{Day: date("2026-11-02"), User: `=HYPERLINK("x")`, JobUID: "u", JobName: "bert", Namespace: "team-a",
			GPUKind: "H100", GPUSeconds: 7200, RunningSeconds: 3600, LostGPUSeconds: 6, Asked: 3, Saved: 2,
			PreemptedLostGPUSeconds: 5, RoomMade: 1, RoomSeconds: 40},
		{Day: date("2026-11-02"), User: "ann", GPUKind: "-A1", GPUSeconds: 1},
	}
	for accept, want := range map[string]string{
		"text/csv": "text/csv; charset=utf-8", "text/csv;q=0.5, application/json;q=0.4": "text/csv; charset=utf-8",
		"": typeJSON, "*/*": typeJSON, "text/html": typeJSON,
	} {
		got := s.do(request{path: "accounting", headers: []string{"Accept: " + accept}})
		if got.Header.Get("Content-Type") != want || got.Header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q: %v", accept, got.Header)
		}
	}
	got := s.do(request{path: "accounting?by=day,user,job", headers: []string{"Accept: text/csv"}})
	lines, err := csv.NewReader(strings.NewReader(string(got.body))).ReadAll()
	if err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	want := [][]string{
		{"day", "user", "job_namespace", "job_name", "job_uid", "queued_seconds", "running_seconds", "gpu_seconds",
			"gpu_hours", "lost_seconds", "lost_gpu_seconds", "jobs", "attempts", "preemptions", "asked", "saved",
			"preempted_lost_gpu_seconds", "room_made", "room_seconds", "cost", "currency", "unpriced_gpu_kinds"},
		{"2026-11-02", `'=HYPERLINK("x")`, "team-a", "bert", "u", "0", "3600", "7200", "2.0000", "0", "6", "0", "0",
			"0", "3", "2", "5", "1", "40", "5.000000", "EUR", ""},
		{"2026-11-02", "ann", "", "", "", "0", "0", "1", "0.0003", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0",
			"", "EUR", "'-A1"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
