package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// MaxSamples is the maximum number of samples of a response.
const MaxSamples = 2000

// SamplesQuery requests samples of a job.
type SamplesQuery struct {
	// Attempt to return; 0: all.
	Attempt int32
	// After is the last sample of the previous response; nil: begin with the first.
	After *SamplePosition
	// Limit of the response; by default and at most MaxSamples.
	Limit int
}

// SamplePosition is the position of a sample in its job.
type SamplePosition struct {
	Attempt int32
	Step    int64
}

// Samples returns samples of a job, by attempt and step; none of an unknown job.
func (s *Store) Samples(ctx context.Context, key history.Key, q SamplesQuery) ([]history.Sample, error) {
	if q.Limit <= 0 || q.Limit > MaxSamples {
		q.Limit = MaxSamples
	}
	args := []any{key.Cluster, string(key.UID)}
	where := ""
	if q.Attempt > 0 {
		args = append(args, q.Attempt)
		where += fmt.Sprintf(` AND attempt = $%d`, len(args))
	}
	if q.After != nil {
		args = append(args, q.After.Attempt, q.After.Step)
		where += fmt.Sprintf(` AND (attempt, step) > ($%d, $%d)`, len(args)-1, len(args))
	}
	var r history.Record
	names := samples.names()
	err := query(ctx, s.reads, func(rows *sql.Rows) error {
		var sc scanner
		if err := sc.read(rows, len(names)); err != nil {
			return err
		}
		samples.scan(&sc, &r)
		return sc.err
	}, `SELECT `+strings.Join(names, ", ")+` FROM samples WHERE cluster = $1 AND uid = $2`+where+
		fmt.Sprintf(` ORDER BY attempt, step LIMIT %d`, q.Limit), args...)
	if err != nil {
		return nil, fmt.Errorf("reading samples of the history: %w", err)
	}
	return r.Samples, nil
}
