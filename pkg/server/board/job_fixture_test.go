package board

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// keptRecords are the content of the fake's history.
type keptRecords struct {
	records map[types.UID]history.Record
	samples []history.Sample
	first   int32 // attempt of the first read sample; 0 for all
	// unread and unsampled are errors of reading it.
	unread, unsampled error
	// logs by rank ("Worker 0"); a rank without one has no pod.
	logs map[string]*pod
	// since is the position from which the last log was read.
	since time.Time
	// jobLogs counts reads of the job of logs; sampled counts reads of its samples.
	jobLogs, sampled int
}

func (a *api) JobRecord(ctx context.Context, in *rest.JobPath) (*rest.JobRecord, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(ctx, "get"); err != nil {
		return nil, err
	}
	job, err := a.find(*in)
	if err != nil {
		return nil, err
	}
	out := &rest.JobRecord{
		Live: job, Record: history.Of(in.Cluster, job, history.Options{UserKeys: []string{"owner"}}),
		Unread:      a.unread,
		Explanation: new(explain.Of(job, now)), Timeline: timeline.Timeline{Items: timeline.Of(job)},
		Prices: map[string]*big.Rat{"H100": big.NewRat(5, 2)}, Currency: "EUR",
	}
	out.Explanation.AddRehearsals(job, a.jobs)
	if recorded, has := a.records[job.UID]; has && a.unread == nil {
		out.Recorded, out.Record = true, history.Merge(recorded, out.Record)
		out.Timeline.Items = timeline.OfRecord(out.Record)
	}
	return out, nil
}

// recorded job of a UID that the caller may get.
func (a *api) recorded(ctx context.Context, in *rest.HistoryPath) (history.Record, error) {
	r, has := a.records[types.UID(in.UID)]
	for _, job := range a.past { // jobs of the list without a record
		if !has && job.UID == types.UID(in.UID) {
			r, has = history.Record{Job: job}, true
		}
	}
	none := problem.New(problem.NotFound, "no such job is known", "look for it in the list of the history")
	switch err := a.check(ctx, "get"); {
	case a.unread != nil:
		return r, a.unread
	case !has || err != nil && a.away == nil:
		return r, none
	default:
		return r, err
	}
}

func (a *api) PastJobRecord(ctx context.Context, in *rest.HistoryPath) (*rest.JobRecord, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, err := a.recorded(ctx, in)
	if err != nil {
		return nil, err
	}
	return &rest.JobRecord{
		Record: r, Recorded: true, Currency: "EUR", Timeline: timeline.Timeline{Items: timeline.OfRecord(r)},
	}, nil
}

func (a *api) JobSamples(ctx context.Context, in *rest.HistoryPath) (*rest.JobSamples, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sampled++
	if _, err := a.recorded(ctx, in); err != nil {
		return nil, err
	}
	return &rest.JobSamples{Items: a.samples, Since: a.first}, a.unsampled
}

// pod of a rank, which writes a log.
type pod struct {
	uid   types.UID
	mu    sync.Mutex
	text  string
	ended bool
	wrote chan struct{} // closed and replaced with every write
}

func newPod(lines ...string) *pod {
	p := &pod{wrote: make(chan struct{})}
	p.write(lines...)
	return p
}

// write lines, a second apart.
func (p *pod) write(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range lines {
		at := now.Add(time.Duration(strings.Count(p.text, "\n")) * time.Second)
		p.text += at.Format(time.RFC3339Nano) + " " + line + "\n"
	}
	close(p.wrote)
	p.wrote = make(chan struct{})
}

func (p *pod) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	close(p.wrote)
	p.wrote = make(chan struct{})
}

// podLog is read up to its end, or without end.
type podLog struct {
	ctx    context.Context
	pod    *pod
	at     int
	follow bool
}

func (l *podLog) Read(into []byte) (int, error) {
	for {
		l.pod.mu.Lock()
		text, ended, wrote := l.pod.text, l.pod.ended, l.pod.wrote
		l.pod.mu.Unlock()
		if l.at < len(text) {
			n := copy(into, text[l.at:])
			l.at += n
			return n, nil
		}
		if !l.follow || ended {
			return 0, io.EOF
		}
		select {
		case <-wrote:
		case <-l.ctx.Done():
			return 0, l.ctx.Err()
		}
	}
}

func (*podLog) Close() error { return nil }

// open the log of a rank, as rest.Server does.
func (p *pod) open(ctx context.Context, in *rest.LogsInput, since time.Time) io.ReadCloser {
	l := &podLog{ctx: ctx, pod: p, follow: in.Follow}
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := bytes.SplitAfter([]byte(p.text), []byte("\n"))
	lines = lines[:len(lines)-1]
	for i, line := range lines {
		at, _, _ := bytes.Cut(line, []byte(" "))
		written, _ := time.Parse(time.RFC3339Nano, string(at))
		if in.TailLines >= 0 && int64(len(lines)-i) > in.TailLines || written.Before(since) {
			l.at += len(line)
		}
	}
	return l
}

func (a *api) JobLogs(ctx context.Context, in *rest.JobPath) (*rest.JobLogs, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobLogs++
	if err := a.check(ctx, "get"); err != nil {
		return nil, err
	}
	job, err := a.find(*in)
	if err != nil {
		return nil, err
	}
	open := func(
		ctx context.Context, in *rest.LogsInput, since func(types.UID) time.Time,
	) (*rest.RankLog, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if err := a.check(ctx, "logs"); err != nil {
			return nil, err
		}
		if !in.Timestamps {
			return nil, errors.New("lines without times have no position")
		}
		rank := spec.RankRef{Role: in.Role, Index: in.Index}
		p, has := a.logs[fmt.Sprintf("%s %d", rank.Role, rank.Index)]
		if !has {
			return nil, problem.Newf(problem.NotFound, "%s %d has no pod: the job is %s", rank.Role, rank.Index,
				job.Status.Phase).WithRemedy("ask again when the job runs")
		}
		a.since = since(p.uid)
		return &rest.RankLog{ReadCloser: p.open(ctx, in, a.since), Pod: p.uid}, nil
	}
	return &rest.JobLogs{Job: job, Open: open}, nil
}
