package store

import (
	"context"
	"database/sql"
	"time"
)

// AcquireLease acquires or renews a lease, which has at most one holder, and reports whether the holder has
// it until the given time. An expired lease is free. Times have a resolution of a millisecond; the holders'
// clocks should agree within seconds.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, now, until time.Time) (bool, error) {
	var has bool
	err := s.write(ctx, "acquiring a lease", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE leases.holder = excluded.holder OR leases.until <= $4`,
			name, holder, until.UnixMilli(), now.UnixMilli())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		has = n > 0
		return err
	})
	return has, err
}

// ReleaseLease releases a lease, if the holder has it.
func (s *Store) ReleaseLease(ctx context.Context, name, holder string) error {
	return s.write(ctx, "releasing a lease", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
		return err
	})
}
