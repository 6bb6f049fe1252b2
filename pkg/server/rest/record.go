package rest

import (
	"context"
	"errors"
	"math/big"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/pkg/timeline"
)

// JobRecord is what is known of a job, read once: its parts are of the same moment.
type JobRecord struct {
	// Live is the job as its cluster has it; nil of one that is read from the history alone.
	Live *v1alpha1.TrainingJob
	// Record is what the history has, merged with what the live version says. Of the samples it has that of the
	// live version alone; JobSamples has the others.
	Record history.Record
	// Recorded reports whether the history knows the job.
	Recorded bool
	// Unread is why the history could not be read; nil where it was.
	Unread error
	// Explanation of the live job; nil where there is none.
	Explanation *explain.Explanation
	Timeline    timeline.Timeline
	// Prices of one GPU of a kind for an hour in the Currency, as the accounting has them. They are shared: read
	// only.
	Prices   map[string]*big.Rat
	Currency string
}

// jobRecord reads a job as the caller, and what the history knows of it. The live part is an answer where the
// history is away.
func (s *Server) jobRecord(ctx context.Context, in *JobPath) (*JobRecord, error) {
	job, err := s.job(ctx, *in)
	if err != nil {
		return nil, err
	}
	r := &JobRecord{
		Live: job, Record: s.RecordOf(in.Cluster, job), Prices: s.Prices, Currency: s.Currency,
		Explanation: new(explain.Of(job, s.Clock.Now().UTC())),
		Timeline:    timeline.Timeline{Source: timeline.FromStatus, Items: timeline.Of(job)},
	}
	recorded, err := s.History.Job(ctx, r.Record.Job.Key)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, store.ErrNotFound):
		return r, nil
	case err != nil: // the status is an answer, too
		s.Log.Error(err, "A job is told from its status alone", "namespace", in.Namespace, "job", in.Name)
		r.Unread = historyError(err)
		return r, nil
	}
	r.Recorded, r.Record = true, history.Merge(recorded, r.Record)
	r.Timeline = timeline.Timeline{Source: timeline.FromHistory, Items: withFailures(r.Record, job)}
	return r, nil
}

// pastJobRecord is what the history alone knows of a job that the caller may get.
func (s *Server) pastJobRecord(ctx context.Context, in *HistoryPath) (*JobRecord, error) {
	r, err := s.record(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &JobRecord{
		Record: r, Recorded: true, Prices: s.Prices, Currency: s.Currency,
		Timeline: timeline.Timeline{Source: timeline.FromHistory, Items: timeline.OfRecord(r)},
	}, nil
}

// Bounds of what is read of samples: history.MaxSamples of each attempt.
const (
	samplesAtOnce  = store.MaxSamples
	sampleAttempts = 24
)

// JobSamples are what a job's trainer has reported, by attempt and step.
type JobSamples struct {
	Items []history.Sample
	// Since is the first attempt whose samples were read, where there may be earlier ones; else 0.
	Since int32
}

// jobSamples reads all samples of a job where they are few, else those of its last 24 attempts.
func (s *Server) jobSamples(ctx context.Context, in *HistoryPath) (*JobSamples, error) {
	r, err := s.record(ctx, *in)
	if err != nil {
		return nil, err
	}
	all, err := s.History.Samples(ctx, r.Job.Key, store.SamplesQuery{Limit: samplesAtOnce})
	if err != nil {
		return nil, historyError(err)
	}
	if len(all) < samplesAtOnce {
		return &JobSamples{Items: all}, nil
	}
	out := &JobSamples{Since: max(1, r.Job.Attempt-sampleAttempts+1)}
	for attempt := out.Since; attempt <= r.Job.Attempt; attempt++ {
		of, err := s.History.Samples(ctx, r.Job.Key, store.SamplesQuery{Attempt: attempt, Limit: samplesAtOnce})
		if err != nil {
			return nil, historyError(err)
		}
		out.Items = append(out.Items, of...)
	}
	if out.Since == 1 {
		out.Since = 0
	}
	return out, nil
}
