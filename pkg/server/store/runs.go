package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Run is a job's run at a tracking server such as MLflow.
type Run struct {
	history.Key
	// ExperimentID and RunID of the tracking server; empty before they exist.
	ExperimentID, RunID string
	// State of the exporter, as JSON; nil for none.
	State json.RawMessage
	// Updated is when the exporter last set the run, in whole seconds.
	Updated time.Time
	// Sent is the Changed of the job that has been sent completely.
	Sent int64
}

// PendingRun is a job whose run is not up to date.
type PendingRun struct {
	Run
	// Changed counts the records of the job. An exporter sets the run's Sent to it after sending everything;
	// later records make the run pending again.
	Changed int64
}

// Run returns the run of a job. Error: ErrNotFound, also if the job has no run.
func (s *Store) Run(ctx context.Context, key history.Key) (Run, error) {
	var run *Run
	err := query(ctx, s.reads, func(rows *sql.Rows) error {
		run = &Run{Key: key}
		return scanRun(rows, run)
	}, `SELECT r.experiment_id, r.run_id, r.state, r.updated, j.sent FROM runs r
		JOIN jobs j ON j.cluster = r.cluster AND j.uid = r.uid WHERE r.cluster = $1 AND r.uid = $2`,
		key.Cluster, string(key.UID))
	if err != nil {
		return Run{}, fmt.Errorf("reading a run of the history: %w", err)
	}
	if run == nil {
		return Run{}, ErrNotFound
	}
	return *run, nil
}

// scanRun reads the columns of a run, and then more.
func scanRun(rows *sql.Rows, run *Run, more ...any) error {
	var state string
	var updated int64
	to := append([]any{&run.ExperimentID, &run.RunID, &state, &updated, &run.Sent}, more...)
	if err := rows.Scan(to...); err != nil {
		return err
	}
	if run.Updated = time.Unix(updated, 0).UTC(); updated == 0 {
		run.Updated = time.Time{}
	}
	if state != "" {
		run.State = json.RawMessage(state)
	}
	return nil
}

// SetRun replaces the run of a job, but keeps the first RunID and its experiment: if several exporters each
// created a run, Run returns the one that counts. Sent never decreases. Error: ErrNotFound if the job is
// unknown.
func (s *Store) SetRun(ctx context.Context, run Run) error {
	return s.write(ctx, "recording a run", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE jobs SET sent = CASE WHEN sent < $3 THEN $3 ELSE sent END
			WHERE cluster = $1 AND uid = $2`, run.Cluster, string(run.UID), run.Sent)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return ErrNotFound
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO runs (cluster, uid, experiment_id, run_id, state, updated)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (cluster, uid) DO UPDATE SET
			experiment_id =
				CASE WHEN runs.run_id = '' THEN excluded.experiment_id ELSE runs.experiment_id END,
			run_id = CASE WHEN runs.run_id = '' THEN excluded.run_id ELSE runs.run_id END,
			state = excluded.state, updated = excluded.updated`, run.Cluster, string(run.UID), run.ExperimentID,
			run.RunID, string(run.State), max(0, run.Updated.Unix()))
		return err
	})
}

// PendingRuns returns the jobs of a cluster whose runs are missing or not up to date, by UID, after a given
// one; "" begins with the first. It returns at most limit, from 1 to MaxPage.
func (s *Store) PendingRuns(
	ctx context.Context, cluster string, after types.UID, limit int,
) ([]PendingRun, error) {
	var all []PendingRun
	err := query(ctx, s.reads, func(rows *sql.Rows) error {
		run := PendingRun{Run: Run{Key: history.Key{Cluster: cluster}}}
		err := scanRun(rows, &run.Run, &run.UID, &run.Changed)
		all = append(all, run)
		return err
	}, fmt.Sprintf(`SELECT COALESCE(r.experiment_id, ''), COALESCE(r.run_id, ''), COALESCE(r.state, ''),
		COALESCE(r.updated, 0), j.sent, j.uid, j.changed
		FROM jobs j LEFT JOIN runs r ON r.cluster = j.cluster AND r.uid = j.uid
		WHERE j.cluster = $1 AND j.uid > $2 AND j.changed > j.sent AND j.resource_version <> ''
		ORDER BY j.uid LIMIT %d`, min(max(limit, 1), MaxPage)), cluster, string(after))
	if err != nil {
		return nil, fmt.Errorf("listing runs of the history: %w", err)
	}
	return all, nil
}
