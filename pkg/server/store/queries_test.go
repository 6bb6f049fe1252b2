package store

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
)

// testPages: the pages of a list are the list, also while jobs are recorded between them.
func testPages(t *testing.T, b backend) {
	s := open(t, b.database(t))
	record(t, s, many(60)...)
	for name, q := range map[string]JobsQuery{
		"all": {},
		"some namespaces and phases": {
			Namespaces: named("team-1", "team-2", "team-1"), Phases: finishedPhases,
		},
		"more namespaces than have lists": {Namespaces: manyNamespaces(), Phases: finishedPhases},
	} {
		q.Cluster = "lab"
		whole, err := s.Jobs(t.Context(), q)
		if must(t, err); whole.Next != "" || len(whole.Jobs) == 0 {
			t.Fatalf("%s: %d jobs, and then %q", name, len(whole.Jobs), whole.Next)
		}
		if !slices.IsSortedFunc(whole.Jobs, func(a, b history.Job) int {
			if c := b.Created.Compare(a.Created); c != 0 {
				return c
			}
			return strings.Compare(string(b.UID), string(a.UID))
		}) {
			t.Errorf("%s: not the youngest first", name)
		}
		for _, limit := range []int{1, 7, len(whole.Jobs)} {
			var jobs []history.Job
			for q.Limit, q.Cursor = limit, ""; ; {
				page, err := s.Jobs(t.Context(), q)
				must(t, err)
				jobs = append(jobs, page.Jobs...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
				record(t, s, small{uid: "later", namespace: "team-1", phase: v1alpha1.PhaseSucceeded,
					created: historytest.Epoch.AddDate(0, 0, 1)})
			}
			if diff := cmp.Diff(uids(whole.Jobs), strings.TrimPrefix(uids(jobs), "later ")); diff != "" {
				t.Errorf("%s, by %d (-list +pages):\n%s", name, limit, diff)
			}
		}
		must(t, s.forget(t, "later"))
	}
}

var finishedPhases = []v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed}

func manyNamespaces() []history.Namespace {
	var all []history.Namespace
	for i := range 2 * maxBranches {
		all = append(all, named("team-"+strings.Repeat("x", i), "team-1", "team-3")...)
	}
	return all
}

func (s *Store) forget(t *testing.T, uid string) error {
	_, err := s.writes.ExecContext(t.Context(), `DELETE FROM jobs WHERE uid = $1`, uid)
	return err
}

// testFilters compares each filter with a search through all jobs.
func testFilters(t *testing.T, b backend) {
	s := open(t, b.database(t))
	all := many(80)
	record(t, s, all...)
	yes, no := true, false
	at := historytest.Epoch.Add(20 * time.Minute)
	for name, c := range map[string]struct {
		query JobsQuery
		is    func(small) bool
	}{
		"namespace": {JobsQuery{Namespaces: named("team-2")}, func(r small) bool {
			return r.namespace == "team-2"
		}},
		"namespaces that have none": {
			JobsQuery{Namespaces: named("empty")}, func(small) bool { return false }},
		"no namespace": {JobsQuery{Namespaces: named()}, func(small) bool { return false }},
		"name":         {JobsQuery{Name: "job-3"}, func(r small) bool { return r.name == "job-3" }},
		"user":         {JobsQuery{User: "user-1"}, func(r small) bool { return r.user == "user-1" }},
		"queue": {JobsQuery{Queue: "queue-1", Phases: finishedPhases}, func(r small) bool {
			return r.queue == "queue-1" && r.phase.Finished()
		}},
		"phase": {JobsQuery{Phases: []v1alpha1.Phase{v1alpha1.PhaseRunning}}, func(r small) bool {
			return r.phase == v1alpha1.PhaseRunning
		}},
		"from":    {JobsQuery{From: at}, func(r small) bool { return !r.created.Before(at) }},
		"to":      {JobsQuery{To: at}, func(r small) bool { return r.created.Before(at) }},
		"deleted": {JobsQuery{Deleted: &yes}, func(r small) bool { return r.deleted != nil }},
		"existing": {JobsQuery{Deleted: &no, Namespaces: named("team-1", "team-2")}, func(r small) bool {
			return r.deleted == nil && (r.namespace == "team-1" || r.namespace == "team-2")
		}},
	} {
		c.query.Cluster = "lab"
		page, err := s.Jobs(t.Context(), c.query)
		must(t, err)
		got := map[types.UID]bool{}
		for _, j := range page.Jobs {
			got[j.UID] = true
			if j.Manifest != nil {
				t.Errorf("%s: a list has manifests", name)
			}
		}
		want := map[types.UID]bool{}
		for _, r := range all {
			if c.is(r) {
				want[types.UID(r.uid)] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func testBadQueries(t *testing.T, b backend) {
	s := open(t, b.database(t))
	record(t, s, many(20)...)
	page, err := s.Jobs(t.Context(), JobsQuery{Cluster: "lab", Limit: 3})
	must(t, err)
	empty := base64.RawURLEncoding.EncodeToString([]byte(`{}`))
	for name, c := range map[string]struct {
		query JobsQuery
		want  error
		says  string
	}{
		"no cursor":      {JobsQuery{Cluster: "lab", Cursor: "?"}, ErrBadCursor, "first page"},
		"cut short":      {JobsQuery{Cluster: "lab", Cursor: page.Next[:9]}, ErrBadCursor, ""},
		"of other jobs":  {JobsQuery{Cluster: "lab", Cursor: page.Next, User: "user-1"}, ErrBadCursor, ""},
		"made by a user": {JobsQuery{Cluster: "lab", Cursor: empty}, ErrBadCursor, ""},
		"no cluster":     {JobsQuery{}, ErrBadQuery, "cluster"},
		"limit":          {JobsQuery{Cluster: "lab", Limit: 501}, ErrBadQuery, "501 is not between 1 and 500"},
		"NUL":            {JobsQuery{Cluster: "lab", User: "a\x00b"}, ErrBadQuery, "user: use valid UTF-8"},
		"no UTF-8":       {JobsQuery{Cluster: "lab", Queue: "a\xffb"}, ErrBadQuery, "queue: use valid UTF-8"},
	} {
		_, err := s.Jobs(t.Context(), c.query)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		query AccountingQuery
		says  string
	}{
		"an hour":           {AccountingQuery{From: day(0).Add(time.Hour), To: day(1)}, "beginnings of days"},
		"nothing":           {AccountingQuery{From: day(1), To: day(1)}, "a day after from"},
		"a century":         {AccountingQuery{From: day(0), To: day(36500)}, "at most 1100 days"},
		"two years of days": {AccountingQuery{To: day(700), By: []Dimension{ByDay}}, "at most 366 days"},
		"a year of jobs":    {AccountingQuery{To: day(365), By: []Dimension{ByJob}}, "at most 31 days"},
		"days of users":     {AccountingQuery{To: day(32), By: []Dimension{ByDay, ByUser}}, "at most 31 days"},
		"users and queues":  {AccountingQuery{To: day(32), By: []Dimension{ByQueue, ByUser}}, "at most 31 days"},
		"what there is not": {AccountingQuery{To: day(1), By: []Dimension{"x"}}, "gpuKind"},
	} {
		if c.query.Cluster = "lab"; c.query.From.IsZero() {
			c.query.From = day(0)
		}
		if _, err := s.Accounting(t.Context(), c.query); !errors.Is(err, ErrBadQuery) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = s.Accounting(t.Context(), AccountingQuery{From: day(0), To: day(1)})
	if !errors.Is(err, ErrBadQuery) || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("no cluster: %v", err)
	}
	if _, err := s.JobNamed(t.Context(), "lab", "team-1", "unknown"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown name: %v", err)
	}
}

// testPrune: jobs go, their accounting stays, and they do not come back.
func testPrune(t *testing.T, b backend) {
	s := open(t, b.database(t))
	all := many(60)
	record(t, s, all...)
	rs := played(5)
	must(t, s.Record(t.Context(), rs))
	before := day(3)
	left := 0
	for _, r := range all {
		if !r.phase.Finished() || !finishedAt(r).Before(before) {
			left++
		}
	}
	ask := func() []Usage {
		t.Helper()
		used, err := s.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(0), To: day(300), Now: day(2), By: []Dimension{ByUser, ByNamespace},
		})
		must(t, err)
		return used
	}
	want := ask()
	for _, again := range []bool{false, true} {
		n, err := s.Prune(t.Context(), before)
		if must(t, err); again != (n == 0) {
			t.Errorf("%d jobs are pruned, again: %t", n, again)
		}
		if diff := cmp.Diff(want, ask()); diff != "" {
			t.Errorf("the accounting changes:\n%s", diff)
		}
		record(t, s, all...) // the cluster still has them
	}
	page, err := s.Jobs(t.Context(), JobsQuery{
		Cluster: "lab", Namespaces: named("team-0", "team-1", "team-2", "team-3"),
	})
	if must(t, err); len(page.Jobs) != left {
		t.Errorf("%d jobs are left, want %d", len(page.Jobs), left)
	}
	for _, table := range []string{"attempts", "transitions", "samples", "checkpoints", "counts", "open_spans"} {
		var n int
		must(t, s.reads.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table+` c WHERE NOT EXISTS
			(SELECT 1 FROM jobs j WHERE j.cluster = c.cluster AND j.uid = c.uid)`).Scan(&n))
		if n > 0 {
			t.Errorf("%d rows of %s belong to no job", n, table)
		}
	}
	for k := range s.usages(t) {
		if _, err := s.Job(t.Context(), keyOf("lab", k.UID)); k.Grain == byJobDay && err != nil {
			t.Errorf("usage of %s: %v", k.UID, err)
		}
	}
}
func finishedAt(r small) time.Time { return r.created.Add(time.Duration(r.queued+r.ran) * time.Second) }

// testGone: a deletion that is recorded before anything else is no job, and is kept.
func testGone(t *testing.T, b backend) {
	s := open(t, b.database(t))
	job := small{uid: "a", namespace: "n1", name: "x", phase: v1alpha1.PhaseRunning, created: day(0)}
	key := job.record().Job.Key
	must(t, s.Record(t.Context(), []history.Record{history.Gone(key, new(day(1)), nil)}))
	if _, err := s.Job(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Errorf("a job of which nothing is known: %v", err)
	}
	page, err := s.Jobs(t.Context(), JobsQuery{Cluster: "lab"})
	if must(t, err); len(page.Jobs) != 0 {
		t.Errorf("jobs: %+v", page.Jobs)
	}
	record(t, s, job, small{uid: "b", namespace: "n2", name: "y", phase: v1alpha1.PhaseRunning, created: day(0)})
	r, err := s.Job(t.Context(), key)
	if must(t, err); r.Job.Deleted == nil || !r.Job.Deleted.Equal(day(1)) {
		t.Errorf("deleted %v", r.Job.Deleted)
	}
	var names []string
	must(t, s.Unfinished(t.Context(), "lab", func(key history.Key, namespace, name string) error {
		names = append(names, namespace+"/"+name)
		return nil
	}))
	if diff := cmp.Diff([]string{"n2/y"}, names); diff != "" {
		t.Errorf("jobs that exist (-want +got):\n%s", diff)
	}
	end := errors.New("enough")
	err = s.Unfinished(t.Context(), "lab", func(history.Key, string, string) error { return end })
	if !errors.Is(err, end) {
		t.Errorf("error %v", err)
	}
	usageIsTheSum(t, s)
}

// testRuns: a run is pending from what is recorded until that is sent.
func testRuns(t *testing.T, b backend) {
	s := open(t, b.database(t))
	job := small{uid: "a", namespace: "n1", name: "x", phase: v1alpha1.PhaseQueued, created: day(0)}
	key := job.record().Job.Key
	if err := s.SetRun(t.Context(), Run{Key: key}); !errors.Is(err, ErrNotFound) {
		t.Errorf("the run of a job that is not known: %v", err)
	}
	record(t, s, job, small{uid: "b", namespace: "n1", name: "y", phase: v1alpha1.PhaseQueued, created: day(0)})
	pending := func(after types.UID, limit int) []PendingRun {
		t.Helper()
		runs, err := s.PendingRuns(t.Context(), "lab", after, limit)
		must(t, err)
		return runs
	}
	runs := pending("", 9)
	if len(runs) != 2 || runs[0].UID != "a" || runs[0].RunID != "" || runs[0].Changed == 0 {
		t.Fatalf("runs %+v", runs)
	}
	if runs := pending("a", 1); len(runs) != 1 || runs[0].UID != "b" {
		t.Errorf("runs behind a: %+v", runs)
	}
	if _, err := s.Run(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Errorf("there is no run yet: %v", err)
	}
	run := Run{Key: key, ExperimentID: "7", RunID: "abc", State: []byte(`{"step":3}`), Updated: day(1),
		Sent: pending("", 1)[0].Changed}
	must(t, s.SetRun(t.Context(), run))
	got, err := s.Run(t.Context(), key)
	must(t, err)
	if diff := cmp.Diff(run, got); diff != "" {
		t.Errorf("run (-set +got):\n%s", diff)
	}
	if runs := pending("", 9); len(runs) != 1 || runs[0].UID != "b" {
		t.Errorf("everything of a is sent: %+v", runs)
	}
	record(t, s, job) // nothing new
	if runs := pending("", 9); len(runs) != 1 {
		t.Errorf("nothing new is pending: %+v", runs)
	}
	must(t, s.Record(t.Context(), []history.Record{history.Gone(key, new(day(2)), nil)}))
	runs = pending("", 1)
	if len(runs) != 1 || runs[0].RunID != "abc" || runs[0].Changed <= runs[0].Sent {
		t.Errorf("what was recorded since is pending: %+v", runs)
	}
	run.Sent = 0
	must(t, s.SetRun(t.Context(), run))
	if got, err := s.Run(t.Context(), key); err != nil || got.Sent == 0 {
		t.Errorf("sent goes back: %+v, %v", got, err)
	}
	run.ExperimentID, run.RunID = "8", "another"
	must(t, s.SetRun(t.Context(), run))
	if got, err := s.Run(t.Context(), key); err != nil || got.RunID != "abc" || got.ExperimentID != "7" {
		t.Errorf("the first run does not stay: %+v, %v", got, err)
	}
}
