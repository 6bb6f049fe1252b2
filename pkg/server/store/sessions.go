package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNoSession: the session does not exist or has expired.
var ErrNoSession = errors.New("no such session")

// SessionID is the SHA-256 of the browser's secret: a reader of the database cannot use it.
type SessionID [sha256.Size]byte

func (id SessionID) text() string { return hex.EncodeToString(id[:]) }

// Session of a logged-in browser. Times are in whole seconds.
type Session struct {
	ID SessionID
	// Owner whose sessions are limited together.
	Owner string
	// Identity of the owner, as JSON.
	Identity json.RawMessage
	// Made is the time of the login, and Used that of the last UseSession.
	Made, Used time.Time
	// Expires is when the session ends.
	Expires time.Time
}

// prunedAtATime is the number of sessions that one transaction deletes.
const prunedAtATime = 1000

// MakeSession stores a new session with its time of use. It deletes the least recently used sessions of the
// owner beyond keep.
func (s *Store) MakeSession(ctx context.Context, n Session, keep int) error {
	return s.write(ctx, "storing a session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE owner = $1 AND expires <= $2`,
			n.Owner, n.Made.Unix()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (id, owner, identity, made, used, expires)
			VALUES ($1, $2, $3, $4, $4, $5)`,
			n.ID.text(), n.Owner, string(n.Identity), n.Made.Unix(), n.Expires.Unix()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM sessions WHERE id IN (
			SELECT id FROM sessions WHERE owner = $1 AND id <> $2 ORDER BY used DESC, made DESC, id
			LIMIT %d OFFSET %d)`, prunedAtATime, max(keep, 1)-1), n.Owner, n.ID.text())
		return err
	})
}

// Session returns a session that has not expired. Error: ErrNoSession.
func (s *Store) Session(ctx context.Context, id SessionID, now time.Time) (Session, error) {
	found := Session{ID: id}
	var identity string
	var made, used, expires int64
	switch err := s.reads.QueryRowContext(ctx, `SELECT owner, identity, made, used, expires FROM sessions
		WHERE id = $1 AND expires > $2`, id.text(), now.Unix()).
		Scan(&found.Owner, &identity, &made, &used, &expires); {
	case errors.Is(err, sql.ErrNoRows):
		return Session{}, ErrNoSession
	case err != nil:
		return Session{}, fmt.Errorf("reading a session: %w", err)
	}
	found.Identity = json.RawMessage(identity)
	found.Made, found.Used = time.Unix(made, 0).UTC(), time.Unix(used, 0).UTC()
	found.Expires = time.Unix(expires, 0).UTC()
	return found, nil
}

// UseSession records the time of use. The time never decreases, and a deleted session stays deleted.
func (s *Store) UseSession(ctx context.Context, id SessionID, used time.Time) error {
	return s.write(ctx, "recording the use of a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE sessions SET used = $2 WHERE id = $1 AND used < $2`,
			id.text(), used.Unix())
		return err
	})
}

// EndSession deletes a session, if it exists.
func (s *Store) EndSession(ctx context.Context, id SessionID) error {
	return s.write(ctx, "ending a session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE id = $1`, id.text())
		return err
	})
}

// PruneSessions deletes the expired sessions, and returns their number.
func (s *Store) PruneSessions(ctx context.Context, now time.Time) (int, error) {
	for removed := 0; ; {
		var n int64
		err := s.write(ctx, "pruning sessions", func(tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM sessions WHERE id IN (
				SELECT id FROM sessions WHERE expires <= $1 LIMIT %d)`, prunedAtATime), now.Unix())
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if removed += int(n); err != nil || n < prunedAtATime {
			return removed, err
		}
	}
}

// CountSessions returns the number of sessions that have not expired.
func (s *Store) CountSessions(ctx context.Context, now time.Time) (int, error) {
	var n int
	err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM sessions WHERE expires > $1`, now.Unix()).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting sessions: %w", err)
	}
	return n, nil
}
