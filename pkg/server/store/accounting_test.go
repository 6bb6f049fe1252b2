package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

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
	for _, by := range [][]Dimension{
		{ByUser, ByNamespace, ByQueue, ByGPUKind}, {ByUser, ByGPUKind}, {ByNamespace, ByQueue}, {ByNamespace},
	} {
		var want []Usage
		for _, u := range []Usage{first, second} {
			for d, text := range map[Dimension]*string{
				ByUser: &u.User, ByNamespace: &u.Namespace, ByQueue: &u.Queue, ByGPUKind: &u.GPUKind,
			} {
				if !slices.Contains(by, d) {
					*text = ""
				}
			}
			want = append(want, u)
		}
		if diff := cmp.Diff(want, ask(0, 31, by...)); diff != "" {
			t.Errorf("March by %v (-want +got):\n%s", by, diff)
		}
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
		Cluster: "lab", Namespaces: named("n2"), From: day(0), To: day(365), By: []Dimension{ByUser}, Limit: 1,
	})
	if must(t, err); len(one) != 1 || one[0].User != "bob" || one[0].Jobs != 1 {
		t.Errorf("one namespace: %+v", one)
	}
	none, err := s.Accounting(t.Context(), AccountingQuery{
		Cluster: "lab", Namespaces: named(), From: day(0), To: day(365),
	})
	if must(t, err); len(none) != 0 {
		t.Errorf("no namespace: %+v", none)
	}
	usageIsTheSum(t, s)
}

// testLateQueue: a job counts in the queue that is known last, and in no other.
func testLateQueue(t *testing.T, b backend) {
	s := open(t, b.database(t))
	r := small{
		uid: "a", namespace: "n1", name: "x", phase: v1alpha1.PhaseQueued, created: day(0), gpus: 8,
	}.record()
	r.Job.ResourceVersion, r.Attempts[0].ResourceVersion = "4", "4"
	must(t, s.Record(t.Context(), []history.Record{r}))
	record(t, s, small{
		uid: "a", namespace: "n1", name: "x", queue: "default", phase: v1alpha1.PhaseSucceeded, created: day(0),
		ran: 60, gpus: 8,
	})
	for _, by := range [][]Dimension{{ByQueue}, {ByQueue, ByUser}} {
		used, err := s.Accounting(t.Context(), AccountingQuery{
			Cluster: "lab", From: day(0), To: day(31), Now: day(31), By: by,
		})
		if must(t, err); len(used) != 1 || used[0].Queue != "default" || used[0].Jobs != 1 {
			t.Errorf("by %v: %+v", by, used)
		}
	}
	usageIsTheSum(t, s)
}

// testOpen: what still goes on is counted up to the time of the question, and not before.
func testOpen(t *testing.T, b backend) {
	s := open(t, b.database(t))
	runs := small{uid: "a", namespace: "n1", name: "runs", user: "ada", queue: "q1",
		phase: v1alpha1.PhaseRunning, created: day(0), queued: 100, gpus: 4}
	waits := small{uid: "b", namespace: "n1", name: "waits", user: "bob", queue: "q1",
		phase: v1alpha1.PhaseQueued, created: day(0), gpus: 4}
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
			t.Errorf("its running time is unknown: %+v", u)
		}
	}
	usageIsTheSum(t, s)
}
