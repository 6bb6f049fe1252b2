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

// JobRecord is what is known of a job at one moment.
type JobRecord struct {
	// Live is the job in its cluster; nil if only the history has it.
	Live *v1alpha1.TrainingJob
	// Record is the record of the history, merged with that of the live version. It has only the live
	// version's sample; JobSamples returns the others.
	Record history.Record
	// Recorded reports whether the history has the job.
	Recorded bool
	// Unread is why the history could not be read; nil if it could.
	Unread error
	// Explanation of the live job; nil where there is none.
	Explanation *explain.Explanation
	Timeline    timeline.Timeline
	// Prices of a GPU-hour by kind in the Currency, as in the accounting. They are shared: read only.
	Prices   map[string]*big.Rat
	Currency string
}

// jobRecord reads a job as the caller, and its history. If the history is unavailable it returns the live
// part.
func (s *Server) jobRecord(ctx context.Context, in *JobPath) (*JobRecord, error) {
	job, err := s.job(ctx, *in)
	if err != nil {
		return nil, err
	}
	r := &JobRecord{
		Live: job, Record: s.RecordOf(in.Cluster, job), Prices: s.Prices, Currency: s.Currency,
		Explanation: new(s.explanation(ctx, in, job)),
		Timeline:    timeline.Timeline{Source: timeline.FromStatus, Items: timeline.Of(job)},
	}
	recorded, err := s.History.Job(ctx, r.Record.Job.Key)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, store.ErrNotFound):
		return r, nil
	case err != nil: // the status is enough
		s.Log.Error(err, "Reading the history of a job failed", "namespace", in.Namespace, "job", in.Name)
		r.Unread = historyError(err)
		return r, nil
	}
	r.Recorded, r.Record = true, history.Merge(recorded, r.Record)
	r.Timeline = timeline.Timeline{Source: timeline.FromHistory, Items: withStatus(r.Record, job)}
	return r, nil
}

// pastJobRecord returns the history of a job that the caller may get.
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

// Limits of reading samples: history.MaxSamples of each attempt.
const (
	samplesAtOnce  = store.MaxSamples
	sampleAttempts = 24
)

// JobSamples are the trainer's reports, by attempt and step.
type JobSamples struct {
	Items []history.Sample
	// Since is the first attempt whose samples were read, if there can be earlier ones; else 0.
	Since int32
}

// jobSamples reads all samples if they are few, else those of the last 24 attempts.
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
