package store

import (
	"context"
	"database/sql"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// Prune deletes the jobs that finished or were deleted before a time, and returns their number. The
// accounting keeps its sums, except those by job, and by user and queue. Jobs that still exist in the cluster
// are not recorded again.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	for {
		n := 0
		err := s.write(ctx, "pruning the history", func(tx *sql.Tx) error {
			var keys []history.Key
			err := query(ctx, tx, func(rows *sql.Rows) error {
				var cluster, uid string
				err := rows.Scan(&cluster, &uid)
				keys = append(keys, keyOf(cluster, uid))
				return err
			}, `SELECT cluster, uid FROM jobs WHERE finished IS NOT NULL AND finished < $1
				ORDER BY finished LIMIT 200`, before.Unix())
			if err != nil {
				return err
			}
			n = len(keys)
			for _, k := range keys {
				if err := prune(ctx, tx, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, err
		}
		if removed += n; n == 0 {
			return removed, nil
		}
	}
}

func prune(ctx context.Context, tx *sql.Tx, k history.Key) error {
	for _, text := range []string{
		`DELETE FROM usage WHERE grain = 7 AND cluster = $1 AND uid = $2`,
		`DELETE FROM jobs WHERE cluster = $1 AND uid = $2`, // foreign keys delete the rest
		`INSERT INTO pruned (cluster, uid) VALUES ($1, $2)`,
	} {
		if _, err := tx.ExecContext(ctx, text, k.Cluster, string(k.UID)); err != nil {
			return err
		}
	}
	return nil
}
