package history

import (
	"context"
	"fmt"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// question is a page or a report.
type question struct {
	name string
	// ask returns how many entries the answer has.
	ask func(context.Context, *store.Store) (int, error)
}

// questions are all that a page or a report of the REST API asks the store.
func questions() []question {
	existing := false
	most := make([]history.Namespace, 0, namespaces)
	for n := range namespaces - 1 {
		most = append(most, history.Namespace{Name: namespace(n)})
	}
	running := []v1alpha1.Phase{v1alpha1.PhaseRunning, v1alpha1.PhaseQueued}
	middle := beginning.AddDate(0, 6, 0)
	return []question{
		jobs("the first page of all jobs", store.JobsQuery{}),
		jobs("a page from the middle of the year", store.JobsQuery{To: middle}),
		jobs("a page of 500", store.JobsQuery{Limit: 500}),
		jobs("jobs of one namespace", store.JobsQuery{Namespaces: []history.Namespace{{Name: namespace(7)}}}),
		jobs("jobs of 39 namespaces", store.JobsQuery{Namespaces: most}),
		jobs("jobs that run or wait, in 39 namespaces", store.JobsQuery{Namespaces: most, Phases: running}),
		jobs("failed jobs", store.JobsQuery{Phases: []v1alpha1.Phase{v1alpha1.PhaseFailed}}),
		jobs("failed jobs of one user", store.JobsQuery{
			User: "user-123", Phases: []v1alpha1.Phase{v1alpha1.PhaseFailed},
		}),
		jobs("running jobs of one queue", store.JobsQuery{Queue: "queue-05", Phases: running}),
		jobs("jobs that exist", store.JobsQuery{Deleted: &existing}),
		jobs("jobs that exist, of 39 namespaces", store.JobsQuery{Deleted: &existing, Namespaces: most}),
		jobs("jobs of one name", store.JobsQuery{
			Namespaces: []history.Namespace{{Name: namespace(7)}}, Name: "job-7",
		}),
		{"one job with 20 attempts", func(ctx context.Context, s *store.Store) (int, error) {
			r, err := s.Job(ctx, busy)
			return len(r.Attempts), err
		}},
		{"2,000 of its samples", func(ctx context.Context, s *store.Store) (int, error) {
			samples, err := s.Samples(ctx, busy, store.SamplesQuery{})
			return len(samples), err
		}},
		{"500 samples of one attempt", func(ctx context.Context, s *store.Store) (int, error) {
			samples, err := s.Samples(ctx, busy, store.SamplesQuery{Attempt: 3})
			return len(samples), err
		}},
		{"a page of runs that are not sent", func(ctx context.Context, s *store.Store) (int, error) {
			runs, err := s.PendingRuns(ctx, cluster, "00000500", 100)
			return len(runs), err
		}},
		report("accounting of a year", 365),
		report("accounting of a year by day", 365, store.ByDay),
		report("accounting of 31 days by day and namespace", 31, store.ByDay, store.ByNamespace, store.ByGPUKind),
		report("accounting of 31 days by day and queue", 31, store.ByDay, store.ByQueue, store.ByGPUKind),
		report("accounting of a year by namespace", 365, store.ByNamespace, store.ByGPUKind),
		report("accounting of a year by queue", 365, store.ByQueue, store.ByGPUKind),
		report("accounting of 364 days by user", 364, store.ByUser, store.ByGPUKind),
		report("accounting of 31 days by user and day", 31, store.ByUser, store.ByDay, store.ByGPUKind),
		report("accounting of 31 days by user and queue", 31, store.ByUser, store.ByQueue, store.ByGPUKind),
		report("accounting of 31 days by job", 31, store.ByJob, store.ByGPUKind),
	}
}

func namespace(n int) string { return fmt.Sprintf("team-%02d", n) }

func jobs(name string, q store.JobsQuery) question {
	q.Cluster = cluster
	if q.Limit == 0 {
		q.Limit = 100
	}
	return question{name, func(ctx context.Context, s *store.Store) (int, error) {
		page, err := s.Jobs(ctx, q)
		return len(page.Jobs), err
	}}
}

// report of the last days of the year. By job it has the 500 that used most.
func report(name string, days int, by ...store.Dimension) question {
	q := store.AccountingQuery{Cluster: cluster, From: end.AddDate(0, 0, -days), To: end, Now: end, By: by}
	for _, d := range by {
		if d == store.ByJob {
			q.Limit = 500
		}
	}
	return question{name, func(ctx context.Context, s *store.Store) (int, error) {
		used, err := s.Accounting(ctx, q)
		return len(used), err
	}}
}

// update is the progress of a job: what a server writes most often.
func update(n int) history.Record {
	return history.Record{Job: history.Job{Key: busy}, Samples: []history.Sample{{
		Attempt: busyAttempts, Step: int64(1_000_000 + n), Time: end, Metrics: map[string]string{"loss": "1.2"},
	}}}
}
