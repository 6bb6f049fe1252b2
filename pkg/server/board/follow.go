package board

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/logview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxFollowed ranks that a caller can follow together, on all pages: each is a connection to its node.
const maxFollowed = 128

// followTogether streams the logs of the ranks of a query, in order of time.
func (b *Board) followTogether(
	w http.ResponseWriter, r *http.Request, s *logview.Streams, logs *rest.JobLogs, q *logview.Query,
) error {
	ranks, _ := q.Ranks(logs.Job)
	caller, _ := identity.FromContext(r.Context())
	leave, entered := b.followed.enter(caller.Name, len(ranks))
	if !entered {
		return problem.Newf(problem.TooManyRequests, "you already follow the logs of many ranks; the limit is %d "+
			"in total", maxFollowed).WithRemedy("close a page of logs of all ranks").RetryAfter(10 * time.Second)
	}
	defer leave()
	cluster, at := r.PathValue("cluster"), jobPath(r)
	return s.ServeTogether(w, r, &logview.Together{
		Ranks: ranks, From: opener{logs},
		Seen: func() map[spec.RankRef]string { return b.seenRanks(cluster, logs.Job) },
		Over: func(ctx context.Context) bool {
			now, err := b.Jobs.JobLogs(ctx, &at)
			if err != nil {
				return problem.Of(err).Status == http.StatusNotFound
			}
			return now.Job.UID != logs.Job.UID || now.Job.Status.Phase.Finished()
		},
	}, q.Options())
}

// seenRanks returns the ranks of a job that the server sees, with their state. It only decides when to try to
// open a log; no user sees it.
func (b *Board) seenRanks(cluster string, job *v1alpha1.TrainingJob) map[spec.RankRef]string {
	snapshot, err := b.Placement.Snapshot(cluster)
	if err != nil {
		return nil
	}
	roles := map[string]v1alpha1.Role{}
	for _, role := range spec.Roles(job) {
		roles[spec.RoleKey(role.Name)] = role.Name
	}
	seen := map[spec.RankRef]string{}
	for _, on := range snapshot.Ranks(job.UID) {
		rank := spec.RankRef{Role: roles[on.Role], Index: on.Index}
		seen[rank] = fmt.Sprintf("%s %s %d", on.Node, on.State, on.Restarts)
	}
	return seen
}

// followed counts the ranks that callers follow together. The zero value is empty.
type followed struct {
	mu       sync.Mutex
	byCaller map[string]int
}

// enter adds ranks of a caller unless that exceeds the limit. leave removes them.
func (f *followed) enter(caller string, ranks int) (leave func(), entered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byCaller[caller]+ranks > maxFollowed {
		return nil, false
	}
	if f.byCaller == nil {
		f.byCaller = map[string]int{}
	}
	f.byCaller[caller] += ranks
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.byCaller[caller] -= ranks; f.byCaller[caller] == 0 {
			delete(f.byCaller, caller)
		}
	}, true
}
