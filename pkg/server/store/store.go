package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Errors that callers distinguish.
var (
	// ErrNotFound: no job with this key or name is in the history.
	ErrNotFound = errors.New("no such job in the history")
	// ErrBadCursor: the cursor was not returned for this query.
	ErrBadCursor = errors.New("the cursor belongs to another list: request the first page, without a cursor")
	// ErrBadQuery: the query is invalid. The wrapping error has the remedy.
	ErrBadQuery = errors.New("bad query")
)

// Options of a Store.
type Options struct {
	// DSN of the database: sqlite:///var/lib/history.db with an absolute path in an existing folder, or
	// postgres://user:password@host:5432/database?sslmode=verify-full.
	DSN string
	// Connections for concurrent reads. Default: 8.
	Connections int
}

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	dialect dialect
	// reads and writes are the same for PostgreSQL. SQLite has one connection that writes.
	reads, writes *sql.DB
}

// Open opens a database, and creates or migrates it if necessary. The caller must Close it.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Connections <= 0 {
		o.Connections = 8
	}
	target, err := parseDSN(o.DSN)
	if err != nil {
		return nil, err
	}
	s, err := target.open(o.Connections)
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes all connections.
func (s *Store) Close() error {
	err := s.writes.Close()
	if s.reads != s.writes {
		err = errors.Join(err, s.reads.Close())
	}
	if err != nil {
		return fmt.Errorf("closing the history: %w", err)
	}
	return nil
}

// Ping returns an error if the history cannot be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int64
	if err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM probe`).Scan(&n); err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	return nil
}

// Writable returns an error if the history cannot be written.
func (s *Store) Writable(ctx context.Context) error {
	return s.write(ctx, "writing the history", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO probe (id, counter) VALUES (1, 1)
			ON CONFLICT (id) DO UPDATE SET counter = probe.counter + 1`)
		return err
	})
}

// write runs a write transaction, one at a time. The error begins with doing.
func (s *Store) write(ctx context.Context, doing string, do func(*sql.Tx) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", doing, err)
		}
	}()
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error counts
		}
	}()
	if s.dialect.lockWriters != "" {
		if _, err := tx.ExecContext(ctx, s.dialect.lockWriters); err != nil {
			return err
		}
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// query calls scan for each row.
func query(ctx context.Context, db querier, scan func(*sql.Rows) error, text string, args ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
