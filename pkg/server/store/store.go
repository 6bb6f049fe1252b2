package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Errors that callers tell apart.
var (
	// ErrNotFound: no job of that key or name is known.
	ErrNotFound = errors.New("no such job in the history")
	// ErrBadCursor: a cursor is not one that this query returned before.
	ErrBadCursor = errors.New("the cursor is not one of this list: ask for the first page, without a cursor")
	// ErrBadQuery: a query asks for what cannot be answered. The error that wraps it says what to change.
	ErrBadQuery = errors.New("bad query")
)

// Options of a Store.
type Options struct {
	// DSN is where the database is: sqlite:///var/lib/history.db, an absolute path in a folder that exists,
	// or postgres://user:password@host:5432/database?sslmode=verify-full.
	DSN string
	// Connections that read at a time. Default: 8.
	Connections int
}

// Store is a database that is open. Its methods may be called at any time and from any goroutine.
type Store struct {
	dialect dialect
	// reads and writes are the same with PostgreSQL. SQLite has one connection that writes.
	reads, writes *sql.DB
}

// Open opens a database, which it creates or brings to the current version where need be. The caller must
// Close it.
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

// Close ends all connections.
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

// Ping reports whether the history can be read.
func (s *Store) Ping(ctx context.Context) error {
	var n int64
	if err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM probe`).Scan(&n); err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	return nil
}

// Writable reports whether the history can be written: it writes something.
func (s *Store) Writable(ctx context.Context) error {
	return s.write(ctx, "writing the history", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO probe (id, counter) VALUES (1, 1)
			ON CONFLICT (id) DO UPDATE SET counter = probe.counter + 1`)
		return err
	})
}

// write runs a transaction that writes, beside which no other does. doing is for its error.
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
			_ = tx.Rollback() // what went wrong is known already
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

// query reads rows, each by scan.
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
