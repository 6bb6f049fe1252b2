package mlflow

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// Store is the part of package store that exporters use.
type Store interface {
	Job(ctx context.Context, key history.Key) (history.Record, error)
	Samples(ctx context.Context, key history.Key, q store.SamplesQuery) ([]history.Sample, error)
	// PendingRuns returns the jobs of a cluster whose runs are not up to date, by UID, after a given one.
	PendingRuns(ctx context.Context, cluster string, after types.UID, limit int) ([]store.PendingRun, error)
	// SetRun stores a run; the first RunID stays.
	SetRun(ctx context.Context, run store.Run) error
	Run(ctx context.Context, key history.Key) (store.Run, error)
	// AcquireLease acquires or renews a lease, and reports whether the holder has it until then.
	AcquireLease(ctx context.Context, name, holder string, now, until time.Time) (bool, error)
	// ReleaseLease releases it, if the holder has it.
	ReleaseLease(ctx context.Context, name, holder string) error
}

// progress is what was sent of a job: store.Run's State.
type progress struct {
	// Parameters and Tags that were sent, by name, including rejected parameters.
	Parameters map[string]string `json:"parameters,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	// Sample is the last one that was sent; nil: none.
	Sample *store.SamplePosition `json:"sample,omitempty"`
	Status string                `json:"status,omitempty"`
	// Annotated: the annotation names the run or a user's run, or the job is deleted.
	Annotated bool `json:"annotated,omitempty"`
	// Settled: the job has ended, and everything was sent.
	Settled bool `json:"settled,omitempty"`
	// Deleted: a user deleted the run in MLflow, and nothing more is sent.
	Deleted bool `json:"deleted,omitempty"`
}

// sending is the work on one job.
type sending struct {
	run     store.Run
	changed int64
	progress
}

func sendingOf(p store.PendingRun) (*sending, error) {
	s := &sending{run: p.Run, changed: p.Changed}
	if len(p.State) > 0 {
		if err := json.Unmarshal(p.State, &s.progress); err != nil {
			return nil, fmt.Errorf("reading what was sent of job %s: %w", p.UID, err)
		}
	}
	return s, nil
}

// save stores what was sent. done: everything that was recorded at the start was sent.
func (e *Exporter) save(ctx context.Context, s *sending, done bool) error {
	state, err := json.Marshal(s.progress)
	if err != nil {
		return fmt.Errorf("encoding what was sent of job %s: %w", s.run.UID, err)
	}
	s.run.State, s.run.Updated = state, e.clock.Now().UTC().Truncate(time.Second)
	if done {
		s.run.Sent = s.changed
	}
	return e.store.SetRun(ctx, s.run)
}
