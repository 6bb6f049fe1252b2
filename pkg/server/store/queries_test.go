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
		"all":                             {},
		"some namespaces and phases":      {Namespaces: []string{"team-1", "team-2", "team-1"}, Phases: finishedPhases},
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

func manyNamespaces() []string {
	var all []string
	for i := range 2 * maxBranches {
		all = append(all, "team-"+strings.Repeat("x", i), "team-1", "team-3")
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
		"namespace": {JobsQuery{Namespaces: []string{"team-2"}}, func(r small) bool { return r.namespace == "team-2" }},
		"namespaces that have none": {
			JobsQuery{Namespaces: []string{"nobody"}}, func(small) bool { return false }},
		"no namespace": {JobsQuery{Namespaces: []string{}}, func(small) bool { return false }},
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
		"existing": {JobsQuery{Deleted: &no, Namespaces: []string{"team-1", "team-2"}}, func(r small) bool {
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
	for name, c := range map[string]struct {
		query JobsQuery
		want  error
		says  string
	}{
		"no cursor":      {JobsQuery{Cluster: "lab", Cursor: "?"}, ErrBadCursor, "first page"},
		"cut short":      {JobsQuery{Cluster: "lab", Cursor: page.Next[:9]}, ErrBadCursor, ""},
		"of other jobs":  {JobsQuery{Cluster: "lab", Cursor: page.Next, User: "user-1"}, ErrBadCursor, ""},
		"made by a user": {JobsQuery{Cluster: "lab", Cursor: base64.RawURLEncoding.EncodeToString([]byte(`{}`))}, ErrBadCursor, ""},
		"no cluster":     {JobsQuery{}, ErrBadQuery, "cluster"},
		"limit":          {JobsQuery{Cluster: "lab", Limit: 501}, ErrBadQuery, "limit: 501 is not between 1 and 500"},
	} {
		if _, err := s.Jobs(t.Context(), c.query); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		query AccountingQuery
		says  string
	}{
		"no cluster":       {AccountingQuery{From: day(0), To: day(1)}, "cluster"},
		"an hour":          {AccountingQuery{Cluster: "lab", From: day(0).Add(time.Hour), To: day(1)}, "beginnings of days"},
		"nothing":          {AccountingQuery{Cluster: "lab", From: day(1), To: day(1)}, "a day after from"},
		"a century":        {AccountingQuery{Cluster: "lab", From: day(0), To: day(36500)}, "at most 3660 days"},
		"a year of jobs":   {AccountingQuery{Cluster: "lab", From: day(0), To: day(365), By: []Dimension{ByJob}}, "at most 31 days"},
		"by what there is": {AccountingQuery{Cluster: "lab", From: day(0), To: day(1), By: []Dimension{"x"}}, "gpuKind"},
	} {
		if _, err := s.Accounting(t.Context(), c.query); !errors.Is(err, ErrBadQuery) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.JobNamed(t.Context(), "lab", "team-1", "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a name that nobody has: %v", err)
	}
}

// testAccounting: runs over midnights and months, by every dimension.
func testAccounting(t *testing.T, b backend) {
	s := open(t, b.database(t))
	late := day(0).Add(23 * time.Hour) // on the first of March
	record(t, s,
		small{uid: "a", namespace: "n1", name: "long", user: "ada", queue: "q1", phase: v1alpha1.PhaseSucceeded,
			created: late, queued: 1800, ran: 40 * 86400, gpus: 2},
		small{uid: "b", namespace: "n2", name: "short", user: "bob", queue: "q1", phase: v1alpha1.PhaseFailed,
			created: late, queued: 60, ran: 600, gpus: 8},
	)
	ask := func(from, to int, by ...Dimension) []Usage {
		t.Helper()
		used, err := s.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(from), To: day(to), Now: day(400), By: by,
		})
		must(t, err)
		return used
	}
	all := Usage{QueuedSeconds: 1860, RunningSeconds: 40*86400 + 600, Jobs: 2, Attempts: 2,
		GPUSeconds: 2*40*86400 + 8*600}
	if diff := cmp.Diff([]Usage{all}, ask(0, 365)); diff != "" {
		t.Errorf("a year (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Usage{all}, ask(-59, 306)); diff != "" {
		t.Errorf("the year of the calendar (-want +got):\n%s", diff)
	}
	first := Usage{Namespace: "n1", Queue: "q1", User: "ada", GPUKind: "A100", QueuedSeconds: 1800, Jobs: 1,
		RunningSeconds: 30 * 86400, GPUSeconds: 60 * 86400, Attempts: 1}
	first.RunningSeconds += 1800
	first.GPUSeconds += 3600
	second := Usage{Namespace: "n2", Queue: "q1", User: "bob", GPUKind: "A100", QueuedSeconds: 60, Jobs: 1,
		RunningSeconds: 600, GPUSeconds: 4800, Attempts: 1}
	got := ask(0, 31, ByUser, ByNamespace, ByQueue, ByGPUKind)
	if diff := cmp.Diff([]Usage{first, second}, got); diff != "" {
		t.Errorf("March (-want +got):\n%s", diff)
	}
	first.User, first.Queue, first.GPUKind, second.User, second.Queue, second.GPUKind = "", "", "", "", "", ""
	first.JobUID, first.JobName, second.JobUID, second.JobName = "a", "long", "b", "short"
	if diff := cmp.Diff([]Usage{first, second}, ask(0, 31, ByJob)); diff != "" {
		t.Errorf("March by job (-want +got):\n%s", diff)
	}
	days := ask(0, 3, ByDay)
	for i, want := range []int64{1800 + 600, 86400, 86400} {
		if len(days) != 3 || days[i].RunningSeconds != want || !days[i].Day.Equal(day(i)) {
			t.Fatalf("day %d of %+v: want %d s", i, days, want)
		}
	}
	one, err := s.Accounting(t.Context(), AccountingQuery{
		Cluster: "lab", Namespaces: []string{"n2"}, From: day(0), To: day(365), By: []Dimension{ByUser}, Limit: 1,
	})
	if must(t, err); len(one) != 1 || one[0].User != "bob" || one[0].Jobs != 1 {
		t.Errorf("one namespace: %+v", one)
	}
	none, err := s.Accounting(t.Context(), AccountingQuery{
		Cluster: "lab", Namespaces: []string{}, From: day(0), To: day(365),
	})
	if must(t, err); len(none) != 0 {
		t.Errorf("no namespace: %+v", none)
	}
	usageIsTheSum(t, s)
}

// testOpen: what still goes on is counted up to the time of the question, and not before.
func testOpen(t *testing.T, b backend) {
	s := open(t, b.database(t))
	runs := small{uid: "a", namespace: "n1", name: "runs", user: "ada", queue: "q1", phase: v1alpha1.PhaseRunning,
		created: day(0), queued: 100, gpus: 4}
	waits := small{uid: "b", namespace: "n1", name: "waits", user: "bob", queue: "q1", phase: v1alpha1.PhaseQueued,
		created: day(0), gpus: 4}
	done := small{uid: "c", namespace: "n1", name: "done", user: "eve", queue: "q1",
		phase: v1alpha1.PhaseSucceeded, created: day(0), queued: 1, ran: 50000, gpus: 8}
	record(t, s, runs, waits, done)
	ask := func(now time.Time, limit int, by Dimension) []Usage {
		t.Helper()
		used, err := s.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(0), To: day(2), Now: now, By: []Dimension{by}, Limit: limit,
		})
		must(t, err)
		return used
	}
	used := ask(day(0).Add(1000*time.Second), 0, ByUser)
	if len(used) != 3 || used[1].User != "ada" || used[1].GPUSeconds != 3600 || used[1].QueuedSeconds != 100 ||
		used[2].QueuedSeconds != 1000 {
		t.Errorf("after 1000 s: %+v", used)
	}
	days := ask(day(9), 0, ByDay)
	if len(days) != 2 || days[0].RunningSeconds != 50000+86300 || days[1].RunningSeconds != 86400 ||
		days[1].QueuedSeconds != 86400 {
		t.Errorf("by day, within the period: %+v", days)
	}
	most := ask(day(2), 1, ByJob)
	if len(most) != 1 || most[0].JobName != "runs" || most[0].Attempts != 1 {
		t.Errorf("the job that used most is still under way: %+v", most)
	}
	must(t, s.Record(t.Context(), []history.Record{history.Gone(runs.record().Job.Key, nil, new(day(3)))}))
	gone := ask(day(9), 0, ByUser)
	for _, u := range gone {
		if u.User == "ada" && (u.GPUSeconds != 0 || u.UnknownEnds != 1) {
			t.Errorf("nobody knows how long it ran: %+v", u)
		}
	}
	usageIsTheSum(t, s)
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
			Cluster: "lab", From: day(0), To: day(300), Now: day(2), By: []Dimension{ByUser, ByQueue, ByNamespace},
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
	page, err := s.Jobs(t.Context(), JobsQuery{Cluster: "lab", Namespaces: []string{"team-0", "team-1", "team-2", "team-3"}})
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
}

func finishedAt(r small) time.Time { return r.created.Add(time.Duration(r.queued+r.ran) * time.Second) }

// testGone: what is heard of a deletion before anything else is no job, and is not forgotten.
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
	if runs := pending("", 9); len(runs) != 2 || runs[0].UID != "a" || runs[0].RunID != "" || runs[0].Changed == 0 {
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
	runs := pending("", 1)
	if len(runs) != 1 || runs[0].RunID != "abc" || runs[0].Changed <= runs[0].Sent {
		t.Errorf("what was recorded since is pending: %+v", runs)
	}
	run.Sent = 0
	must(t, s.SetRun(t.Context(), run))
	if got, err := s.Run(t.Context(), key); err != nil || got.Sent == 0 {
		t.Errorf("sent goes back: %+v, %v", got, err)
	}
}
