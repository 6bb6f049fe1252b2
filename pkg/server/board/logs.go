package board

import (
	"context"
	"html/template"
	"io"
	"net/http"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/logview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// writeTimeout is how long the stream of a log waits for its browser to take what was written.
const writeTimeout = 20 * time.Second

// tailBytes of the text of one rank's page.
const tailBytes = 1 << 20

// opener of the logs of a job's ranks, as the caller for whom the job was read.
type opener struct{ *rest.JobLogs }

// Open implements logview.Opener.
func (o opener) Open(ctx context.Context, rank spec.RankRef, with logview.Options) (io.ReadCloser, error) {
	return o.JobLogs.Open(ctx, &rest.LogsInput{
		Role: rank.Role, Index: rank.Index, Follow: with.Follow, Previous: with.Previous,
		TailLines: with.TailLines, Timestamps: true,
	}, with.Since)
}

// logParameters are those of the page; its stream has the position, too.
var logParameters = []string{"all", "role", "index", "previous", "lines", "times"}

// logsOf the job of a request, and what of them is asked for.
func (b *Board) logsOf(r *http.Request, more ...string) (*rest.JobLogs, logview.Query, error) {
	values, err := queryOf(r, append(more, logParameters...)...)
	if err != nil {
		return nil, logview.Query{}, err
	}
	at := jobPath(r)
	logs, err := b.Jobs.JobLogs(r.Context(), &at)
	if err != nil {
		return nil, logview.Query{}, err
	}
	q, err := logview.ParseQuery(logs.Job, values)
	return logs, q, err
}

// logs is the page with the last lines of one rank, or of many.
func (b *Board) logs(r *http.Request) (view, error) {
	logs, q, err := b.logsOf(r)
	if err != nil {
		return view{}, err
	}
	job, path := logs.Job, jobURL(r)
	var page logview.Page
	if q.All {
		ranks, next := q.Ranks(job)
		tails := logview.ReadTails(r.Context(), opener{logs}, ranks, q.Options())
		page = logview.PageOfAll(job, q, path+"/logs", path, &tails, len(ranks), next)
	} else {
		tail := logview.ReadTail(r.Context(), opener{logs}, q.Rank, q.Options(), tailBytes)
		page = logview.PageOfOne(job, q, path+"/logs", path, path+"/logs/stream", &tail)
	}
	if err := r.Context().Err(); err != nil {
		return view{}, err
	}
	return view{
		title: job.Namespace + "/" + job.Name + ": logs",
		body:  func([]fragment.Fragment) (template.HTML, error) { return page.Body() },
	}, nil
}

// followLog streams what one rank writes.
func (b *Board) followLog(w http.ResponseWriter, r *http.Request) {
	logs, q, err := b.logsOf(r, logview.ParamAfter)
	if err == nil && q.All {
		err = problem.New(problem.Invalid, "many ranks cannot be followed at once", "leave it out").
			About("query.all")
	}
	if err == nil {
		err = b.BeginStream(r.Context())
	}
	if err == nil {
		s := logview.Streams{Clock: b.Clock, Heartbeat: b.Heartbeat, WriteTimeout: writeTimeout}
		counted, end := b.metrics.streaming(pageLogs, w)
		defer end()
		err = s.Serve(counted, r, opener{logs}, q.Rank, q.Options())
	}
	if err != nil {
		b.fail(w, r, err)
	}
}
