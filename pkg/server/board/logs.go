package board

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/server/board/fragment"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board/logview"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// writeTimeout for the browser that receives a log.
const writeTimeout = 20 * time.Second

// tailBytes is the size of one rank's page.
const tailBytes = 1 << 20

// opener of the logs of a job's ranks, with the rights of the caller of rest.Server.JobLogs.
type opener struct{ *rest.JobLogs }

// Open implements logview.Opener.
func (o opener) Open(ctx context.Context, rank spec.RankRef, with logview.Options) (logview.Log, error) {
	log, err := o.JobLogs.Open(ctx, &rest.LogsInput{
		Role: rank.Role, Index: rank.Index, Follow: with.Follow, Previous: with.Previous,
		TailLines: with.TailLines, Timestamps: true,
	}, func(pod types.UID) time.Time { return with.Since(string(pod)) })
	if err != nil {
		return logview.Log{}, err
	}
	return logview.Log{ReadCloser: log.ReadCloser, Pod: string(log.Pod)}, nil
}

// logParameters are those of the page; its stream also has the position.
var logParameters = []string{"all", "role", "index", "previous", "lines", "times"}

// logsOf returns the job of a request and the query of its logs.
func (b *Board) logsOf(r *http.Request, more ...string) (*rest.JobLogs, logview.Query, error) {
	values, err := queryOf(r, append(more, logParameters...)...)
	if err != nil {
		return nil, logview.Query{}, err
	}
	at := jobPath(r)
	logs, err := b.Jobs.JobLogs(r.Context(), &at)
	if err == nil {
		err = isOf(values, string(logs.Job.UID))
	}
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
		page = logview.PageOfAll(job, q, path+"/logs", path, path+"/logs/stream", &tails, len(ranks), next)
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

// followLog streams the log of one rank, or of many.
func (b *Board) followLog(w http.ResponseWriter, r *http.Request) {
	logs, q, err := b.logsOf(r, logview.ParamAfter, logview.ParamUID)
	if err == nil && q.All && q.Previous {
		err = problem.New(problem.Invalid, "logs of previous containers cannot be followed",
			"leave one of the two out").About("query.previous")
	}
	if err == nil {
		err = b.BeginStream(r.Context())
	}
	if err == nil {
		s := &logview.Streams{Clock: b.Clock, Heartbeat: b.Heartbeat, WriteTimeout: writeTimeout}
		counted, end := b.metrics.streaming(pageLogs, w)
		defer end()
		if q.All {
			err = b.followTogether(counted, r, s, logs, &q)
		} else {
			err = s.Serve(counted, r, opener{logs}, q.Rank, q.Options())
		}
	}
	if err != nil {
		b.fail(w, r, err)
	}
}
